internal import Fleet

/// A progress bar such as `[#####-----]  52 %  104.0k of 200.0k positions`.
enum ProgressBar {
  static func text(_ done: Int, of total: Int?, unit: String) -> String {
    guard let total, total > 0 else { return "\(QuantityText.count(done)) \(unit)" }
    let share = min(1, Double(done) / Double(total))
    let full = Int(share * 30)
    let bar = String(repeating: "#", count: full) + String(repeating: "-", count: 30 - full)
    return
      "[\(bar)] \(Int(share * 100)) %  \(QuantityText.count(done)) of \(QuantityText.count(total)) \(unit)"
  }
}
