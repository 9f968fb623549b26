// fmt's compiled half, as a static library of ours. Debian ships it as a shared library only, which drags the
// shared C++ library in with it: 1 ms in every run of the tool. fmt's header-only mode would cost 4 s in
// every source file. What is instantiated here is what fmt/format.h declares extern, and what the functions
// above it are made of.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template void vformat_to(buffer<char>&, basic_string_view<char>, basic_format_args<buffer_context<char>>,
                         locale_ref);
template auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template void buffer<char>::append(const char*, const char*);

}  // namespace detail
FMT_END_NAMESPACE
