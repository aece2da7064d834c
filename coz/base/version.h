// The version of this product, as it is printed and written into profiles.
#ifndef COZ_BASE_VERSION_H_
#define COZ_BASE_VERSION_H_

namespace coz {

inline constexpr char kCozVersion[] = "0.1.0";

}  // namespace coz

#endif  // COZ_BASE_VERSION_H_
