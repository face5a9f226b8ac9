#pragma once

#include <string>
#include <string_view>

namespace septule::report {

/// The frame of our self-contained pages: style, title, end. No script, nothing fetched, light or
/// dark as the reader's system is, well-formed XML. Pure functions; any thread.

/// Everything up to the opening of the page's main part. `title` is any text.
std::string html_page_begin(std::string_view title);
/// The footer and what closes the page.
std::string html_page_end(std::string_view version);
/// A heading with a note below it. Both are XML already (xml_escaped where they come from outside).
std::string html_section(std::string_view title, std::string_view note);
/// A drawing or a table that scrolls where the page is too narrow for it.
std::string html_framed(std::string_view content);

}  // namespace septule::report
