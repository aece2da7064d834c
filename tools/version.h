// The version of this product, as it is printed and written into profiles.
#ifndef COZ_TOOLS_VERSION_H_
#define COZ_TOOLS_VERSION_H_

namespace coz {

inline constexpr char kCozVersion[] = "0.1.0";

}  // namespace coz

#endif  // COZ_TOOLS_VERSION_H_
