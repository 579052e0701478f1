internal import Glibc

/// Bytes that a TCP socket has sent and received, as the kernel counts them; nil when it does not say.
func bytesCarried(by socket: Int32) -> Int? {
  // `struct tcp_info` of <linux/tcp.h>: Glibc's own ends before these fields.
  let (received, sent) = (128, 200)
  var info = [UInt8](repeating: 0, count: sent + 8)
  var size = socklen_t(info.count)
  guard unsafe getsockopt(socket, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0, size == info.count else {
    return nil
  }
  func number(at offset: Int) -> UInt64 {
    unsafe info.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
  }
  return Int(clamping: number(at: received) &+ number(at: sent))
}
