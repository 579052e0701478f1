/// The outlets of one kind of element, one for each consumer.
package struct SampleOutlets<Element: Sendable>: Sendable {
  private var all: [(consumer: Int, outlet: SampleOutlet<Element>)] = []

  package init() {}

  package var isEmpty: Bool { all.isEmpty }

  package func push(_ element: Element) { for (_, outlet) in all { outlet.push(element) } }

  /// Pushes a batch, which counts as one element in the consumers' queues.
  package func push(batch: [Element]) { for (_, outlet) in all { outlet.push(batch: batch) } }

  /// Pushes to one consumer only.
  package func push(_ element: Element, to consumer: Int) { push(batch: [element], to: consumer) }

  /// Pushes a batch to one consumer only.
  package func push(batch: [Element], to consumer: Int) {
    for entry in all where entry.consumer == consumer { entry.outlet.push(batch: batch) }
  }

  package mutating func add(_ outlet: SampleOutlet<Element>, as consumer: Int) {
    all.append((consumer, outlet))
  }

  /// Removes the outlet of a consumer and returns whether it had one.
  @discardableResult
  package mutating func remove(_ consumer: Int) -> Bool {
    let count = all.count
    all.removeAll { $0.consumer == consumer }
    return all.count < count
  }

  /// Removes all outlets. Returns the functions that end the updates, to be called without the lock.
  package mutating func removeAll() -> [@Sendable () -> Void] {
    defer { all = [] }
    return all.map(\.outlet.finish)
  }
}
