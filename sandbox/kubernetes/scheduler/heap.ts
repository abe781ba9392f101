/** A binary heap: what comes first by `compare` is popped first. */
export interface Heap<T> {
  push(item: T): void;
  pop(): T | undefined;
}

/** An empty heap. `compare` must be a total order. */
export function newHeap<T>(compare: (a: T, b: T) => number): Heap<T> {
  const items: Array<T> = [];
  const before = (a: number, b: number): boolean => {
    const [left, right] = [items[a], items[b]];
    return left !== undefined && right !== undefined && compare(left, right) < 0;
  };
  const swap = (a: number, b: number): void => {
    const [left, right] = [items[a], items[b]];
    if (left === undefined || right === undefined) return;
    items[a] = right;
    items[b] = left;
  };
  return {
    push: (item) => {
      items.push(item);
      let at = items.length - 1;
      while (at > 0 && before(at, (at - 1) >> 1)) {
        swap(at, (at - 1) >> 1);
        at = (at - 1) >> 1;
      }
    },
    pop: () => {
      swap(0, items.length - 1);
      const top = items.pop();
      let at = 0;
      for (;;) {
        const left = 2 * at + 1;
        const child = before(left + 1, left) ? left + 1 : left;
        if (!before(child, at)) return top;
        swap(child, at);
        at = child;
      }
    },
  };
}
