// The commands of septule, in the order of help. Apart from app.cpp, which septule-train shares
// without linking the commands.
#include "septule/app.hpp"

namespace septule::app {

std::vector<Command> all_commands() {
  return {gpus_command(),           gpus_show_command(),      validate_command(),
          plan_command(),           diff_command(),           apply_command(),
          explain_fit_command(),    defrag_command(),         window_command(),
          serve_plan_command(),     serve_min_gpus_command(), serve_max_goodput_command(),
          serve_simulate_command(), serve_compare_command(),  trace_generate_command(),
          trace_import_command(),   trace_describe_command(), simulate_command(),
          policies_command(),       predict_command(),        train_predictor_command(),
          train_window_command(),   completion_command(),     man_command()};
}

}  // namespace septule::app
