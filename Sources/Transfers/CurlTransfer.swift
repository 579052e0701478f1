internal import CCurl
internal import Glibc
internal import Platform

/// The time and size limits of a transfer.
package struct TransferLimits: Hashable, Sendable {
  /// The limits in milliseconds for connecting, and for the complete transfer.
  package var connect: Int
  package var total: Int
  /// The additional time in milliseconds, beyond `total`, for the response to a complete upload.
  package var verdict: Int
  /// The maximum size of the response in bytes.
  package var size: Int

  package init(connect: Int = 5_000, total: Int = 15_000, verdict: Int = 0, size: Int = 1 << 16) {
    (self.connect, self.total, self.verdict, self.size) = (connect, total, verdict, size)
  }
}

/// The reason why a transfer has no response.
package struct TransferFailure: Error, Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// The program is shutting down.
    case interrupted
    /// The response exceeds the size limit.
    case tooLong
    /// The peer's certificate or encryption cannot be trusted.
    case untrusted
    /// Any other failure, such as a refused connection or a timeout.
    case failed
  }

  package var kind: Kind
  /// An error message of libcurl.
  package var text: String
}

/// A libcurl handle, for consecutive transfers by one thread at a time. Responses are limited in size and
/// time and are not decompressed. Certificates are verified, and redirects are not followed. The
/// corresponding C type is `CURL`.
@safe final class CurlTransfer {
  private let limits: TransferLimits
  private let shouldContinue: () -> Bool
  private let handle: UnsafeMutableRawPointer
  private let errors: UnsafeMutablePointer<CChar>
  private var lists: [UnsafeMutablePointer<curl_slist>] = unsafe []
  private var upload: ArraySlice<UInt8> = []
  private var uploadCount = 0
  private var isTooLong = false
  /// The deadline of an upload; nil if only the complete transfer is limited.
  private var uploadEnd: MonotonicTime?
  private var isLate = false
  private(set) var answer: [UInt8] = []
  /// The lines of a mail server's responses, up to `TransferLimits.size` bytes; empty for other transfers.
  private(set) var responses: [UInt8] = []

  /// Initializes libcurl once per process, before the first handle.
  private static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  /// Creates a handle.
  ///
  /// - Parameter shouldContinue: called several times a second; the transfer is aborted if it returns false.
  /// - Returns: nil if libcurl cannot be initialized.
  init?(_ limits: TransferLimits, shouldContinue: @escaping () -> Bool) {
    guard Self.isReady, let handle = unsafe curl_easy_init() else { return nil }
    (self.limits, self.shouldContinue) = (limits, shouldContinue)
    unsafe self.handle = unsafe handle
    unsafe errors = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe errors.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit {
    unsafe curl_easy_cleanup(handle)
    freeLists()
    unsafe errors.deallocate()
  }

  private func freeLists() {
    while let list = unsafe lists.popLast() { unsafe curl_slist_free_all(list) }
  }

  /// Performs one transfer.
  /// - Parameters:
  ///   - headers: the lines of an HTTP request; empty for none.
  ///   - recipients: the recipients of a mail; empty for none.
  ///   - upload: the body to upload, sent in pieces.
  /// - Throws: `TransferFailure` if there is no response. A transfer whose limits cannot be set is not
  ///   attempted.
  func perform(
    texts: [(CURLoption, String)], numbers: [(CURLoption, Int)] = [], headers: [String] = [],
    recipients: [String] = [], upload: [UInt8] = []
  ) throws(TransferFailure) {
    (answer, responses, isTooLong, isLate, self.upload) = ([], [], false, false, upload[...])
    uploadCount = upload.count
    uploadEnd = limits.verdict > 0 ? .after(Double(limits.total) * 1e-3) : nil
    unsafe errors[0] = 0
    unsafe curl_easy_reset(handle)
    freeLists()
    let bounds: [(CURLoption, Int)] = [
      (CURLOPT_NOSIGNAL, 1), (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_CONNECTTIMEOUT_MS, limits.connect),
      (CURLOPT_TIMEOUT_MS, limits.total + limits.verdict), (CURLOPT_MAXFILESIZE, limits.size),
      (CURLOPT_SSL_VERIFYPEER, 1),
      (CURLOPT_SSL_VERIFYHOST, 2),
    ]
    var codes: [CURLcode] = []
    for (option, text) in texts { codes.append(unsafe odograph_curl_set_text(handle, option, text)) }
    for (option, number) in bounds + numbers {
      codes.append(unsafe odograph_curl_set_number(handle, option, number))
    }
    let context = unsafe Unmanaged.passUnretained(self).toOpaque()
    codes += [
      unsafe odograph_curl_set_errors(handle, errors),
      unsafe odograph_curl_set_writer(handle, Self.writer, context),
      unsafe odograph_curl_set_watch(handle, Self.watch, context),
      unsafe odograph_curl_set_reader(handle, Self.reader, context),
    ]
    if !headers.isEmpty {
      let list = unsafe list(headers)
      codes.append(unsafe odograph_curl_set_headers(handle, list))
    }
    if !recipients.isEmpty {
      let list = unsafe list(recipients)
      codes.append(unsafe odograph_curl_set_recipients(handle, list))
      codes.append(unsafe odograph_curl_set_header_writer(handle, Self.listener, context))
    }
    guard codes.allSatisfy({ $0 == CURLE_OK }) else {
      throw TransferFailure(kind: .failed, text: "libcurl rejects the request")
    }
    let code = unsafe curl_easy_perform(handle)
    guard code == CURLE_OK else { throw failure(code) }
  }

  private func list(_ lines: [String]) -> UnsafeMutablePointer<curl_slist>? {
    var list: UnsafeMutablePointer<curl_slist>?
    for line in lines { unsafe list = unsafe curl_slist_append(list, line) }
    if let list = unsafe list { unsafe lists.append(list) }
    return unsafe list
  }

  /// The last status of the peer, of HTTP or SMTP.
  var status: Int { unsafe odograph_curl_status(handle) }

  /// True if the complete upload was sent.
  var isUploaded: Bool { uploadCount > 0 && upload.isEmpty }

  /// The media type of the response; empty if unknown.
  var contentType: String {
    unsafe odograph_curl_content_type(handle).map { unsafe String(cString: $0) } ?? ""
  }

  /// The delay in seconds after which the peer accepts a retry; nil if it did not specify one.
  var retryAfter: Double? {
    let seconds = unsafe odograph_curl_retry_after(handle)
    return seconds > 0 ? Double(seconds) : nil
  }

  private static let writer: odograph_curl_writer = { bytes, size, count, context in
    unsafe from(context).take(UnsafeRawBufferPointer(start: bytes, count: size * count))
  }

  private static let listener: odograph_curl_writer = { bytes, size, count, context in
    unsafe from(context).listen(UnsafeRawBufferPointer(start: bytes, count: size * count))
  }

  private static let reader: odograph_curl_reader = { bytes, size, count, context in
    unsafe from(context).give(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
  }

  private static let watch: odograph_curl_watch = { context, _, _, _, _ in
    unsafe from(context).mayGoOn() ? 0 : 1
  }

  /// libcurl calls back only during `perform`, which retains the object.
  private static func from(_ context: UnsafeMutableRawPointer?) -> CurlTransfer {
    // The pointer was set by `perform` and is never nil.
    unsafe Unmanaged<CurlTransfer>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
  }

  /// Appends received bytes.
  ///
  /// - Returns: the number of accepted bytes; a smaller number aborts the transfer.
  private func take(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard answer.count + bytes.count <= limits.size else {
      isTooLong = true
      return 0
    }
    unsafe answer.append(contentsOf: bytes)
    return bytes.count
  }

  private func listen(_ bytes: UnsafeRawBufferPointer) -> Int {
    if responses.count + bytes.count <= limits.size { unsafe responses.append(contentsOf: bytes) }
    return bytes.count
  }

  private func mayGoOn() -> Bool {
    if let uploadEnd, !upload.isEmpty, uploadEnd.hasPassed { isLate = true }
    return !isLate && shouldContinue()
  }

  private func give(_ room: UnsafeMutableRawBufferPointer) -> Int {
    let piece = upload.prefix(room.count)
    unsafe room.copyBytes(from: piece)
    upload = upload.dropFirst(piece.count)
    return piece.count
  }

  private func failure(_ code: CURLcode) -> TransferFailure {
    if isLate { return TransferFailure(kind: .failed, text: "timed out after \(limits.total / 1000) s") }
    if code == CURLE_ABORTED_BY_CALLBACK { return TransferFailure(kind: .interrupted, text: "it was left") }
    if isTooLong || code == CURLE_FILESIZE_EXCEEDED {
      return TransferFailure(kind: .tooLong, text: "its answer has more than \(limits.size) bytes")
    }
    let detail = unsafe String(cString: errors)
    let text = detail.isEmpty ? unsafe String(cString: curl_easy_strerror(code)) : detail
    switch code {
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE,
      CURLE_USE_SSL_FAILED:
      return TransferFailure(
        kind: .untrusted, text: "untrusted certificate or encryption: \(text)")
    default: return TransferFailure(kind: .failed, text: text)
    }
  }
}
