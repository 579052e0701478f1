internal import Glibc

/// Returns an environment variable; nil if it is unset or empty.
package func environment(_ name: String) -> String? {
  guard let value = unsafe getenv(name) else { return nil }
  let text = unsafe String(cString: value)
  return text.isEmpty ? nil : text
}
