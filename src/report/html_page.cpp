#include "report/html_page.hpp"

#include <fmt/format.h>

#include "report/svg_plot_text.hpp"

namespace septule::report {

namespace {

constexpr std::string_view kPageStyle = R"(
body{margin:0;background:var(--paper);color:var(--ink);line-height:1.5;
font:16px/1.5 system-ui,"Segoe UI",Roboto,Helvetica,Arial,sans-serif}
main{max-width:1120px;margin:0 auto;padding:28px 20px 60px}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .3rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;margin:2.6rem 0 .3rem;padding-top:.9rem;border-top:1px solid var(--grid)}
h3{font-size:1rem;margin:1.6rem 0 .2rem;overflow-wrap:anywhere}
p{margin:.2rem 0 .9rem;max-width:46rem;overflow-wrap:anywhere}
.lead,.note{color:var(--ink2)}
.note{font-size:.85rem}
.frame{overflow-x:auto;margin:.6rem 0 1rem}
.frame>.plot{min-width:620px}
.frame.wide>.plot{min-width:820px}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(290px,1fr));gap:14px 22px}
.panels.whole{display:block;overflow-x:auto}
.panels.whole .plot{min-width:620px;margin:.6rem 0}
table{border-collapse:collapse;font-size:.86rem;font-variant-numeric:tabular-nums}
th,td{padding:.4rem 0 .4rem 1.1rem;text-align:right;vertical-align:top;white-space:nowrap}
th:first-child{text-align:left;font-weight:600;padding-left:0}
thead th{color:var(--ink2);font-weight:600;border-bottom:1px solid var(--line)}
tbody tr+tr>*{border-top:1px solid var(--grid)}
td small{display:block;color:var(--ink2);font-size:.78rem}
.text{text-align:left;white-space:normal;min-width:16rem}
.key{width:.75em;height:.75em;margin-right:.5em;display:inline-block}
.key .bar{stroke:none}
pre{background:var(--band);padding:.8rem 1rem;border-radius:6px;font-size:.85rem;
white-space:pre-wrap;overflow-wrap:anywhere}
summary{cursor:pointer;font-weight:600;margin:.6rem 0}
footer{margin-top:3rem;color:var(--ink2);font-size:.85rem}
@media print{details>*{display:block}}
)";

}  // namespace

std::string html_page_begin(std::string_view title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
      "<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n<main>\n",
      xml_escaped(title),
      plot_style(),
      kPageStyle);
}

std::string html_page_end(std::string_view version) {
  return fmt::format(
      "<footer>Made by Septule {}. Nothing on this page is fetched from "
      "elsewhere.</footer>\n</main>\n</body>\n</html>\n",
      xml_escaped(version));
}

std::string html_section(std::string_view title, std::string_view note) {
  return fmt::format("<h2>{}</h2>\n<p class=\"note\">{}</p>\n", title, note);
}

std::string html_framed(std::string_view content) {
  return fmt::format("<div class=\"frame\">\n{}</div>\n", content);
}

}  // namespace septule::report
