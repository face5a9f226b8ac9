// septule train window: becomes septule-train, which does the work, with the same arguments.
#include "septule/app.hpp"
#include "septule/train_program.hpp"
#include "septule/train_window_record.hpp"

namespace septule::app {

Command train_window_command() {
  return {.record = train_window_record(), .run = [](const Invocation& invocation, Context&) {
            return become_training_program(invocation);
          }};
}

}  // namespace septule::app
