import { createInternTable, type InternTable } from './intern.ts';
import { createRowOrder } from './row-order.ts';
import { isPlacedByOwner, type PodFacts, type ReducedShape } from './reduced-pod.ts';

/**
 * Pods in columns. A pod is a row of numbers and its name; labels, spec and owner live once per shape, and specs once
 * for all shapes that differ only in labels. So memory follows the number of shapes.
 */
export interface PodTable {
  /** Adds a pod or replaces what was known of it. */
  readonly put: (key: string, shape: ReducedShape, facts: PodFacts, sync: number) => PodChange;
  /** Forgets a pod; null when it was not there. */
  readonly remove: (key: string) => PodState | null;
  /** Forgets the pods that no `put` of synchronization `sync` named, and says which. */
  readonly removeUnseen: (sync: number) => ReadonlyArray<PodState>;
  readonly size: () => number;
  /** What can be told of one pod without its shape; null when it is not there. */
  readonly stateOf: (key: string) => PodState | null;
  /** Calls `visit` for every pod, in the order of the keys. */
  readonly forEach: (visit: (row: PodRow) => void) => void;
  /** Writes the 16 bytes of a pod's UID at `offset`. A UID of another form is given back as text, and nothing written. */
  readonly copyUid: (row: number, target: Uint8Array, offset: number) => string | null;
  readonly shapes: InternTable;
  readonly specs: InternTable;
}

/** The state of a pod that hints are derived from. */
export interface PodState {
  /** `namespace/name` */
  readonly key: string;
  readonly nodeName: string | null;
  /** Waiting for provisioning. */
  readonly provisionable: boolean;
  /** Owned by a DaemonSet or a Node. */
  readonly placedByOwner: boolean;
  readonly deleting: boolean;
}

/** What a `put` did. */
export interface PodChange {
  readonly same: boolean;
  readonly before: PodState | null;
  readonly after: PodState;
}

/** One pod, as `forEach` shows it. The object is reused: copy what you keep. */
export interface PodRow {
  /** Its place in the table, for `copyUid`. */
  row: number;
  key: string;
  shape: number;
  createdAtMs: number;
  nodeName: string | null;
  nominatedNodeName: string | null;
  flags: number;
  startedAtMs: number | null;
  deletionAtMs: number | null;
}

/** Bits of a pod's flags, in memory and on the wire. */
export const podFlag = { unschedulable: 1, deleting: 2, running: 4, ready: 8, gated: 16, placedByOwner: 32 } as const;

const none = -1;
const uidBytes = 16;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Rows to begin with; columns double when they are full. */
const firstRows = 256;

interface Columns {
  shape: Int32Array;
  node: Int32Array;
  nominated: Int32Array;
  flags: Uint8Array;
  sync: Uint32Array;
  createdAt: Float64Array;
  startedAt: Float64Array;
  deletionAt: Float64Array;
  uid: Uint8Array;
}

function columnsOf(rows: number): Columns {
  return {
    shape: new Int32Array(rows),
    node: new Int32Array(rows),
    nominated: new Int32Array(rows),
    flags: new Uint8Array(rows),
    sync: new Uint32Array(rows),
    createdAt: new Float64Array(rows),
    startedAt: new Float64Array(rows),
    deletionAt: new Float64Array(rows),
    uid: new Uint8Array(rows * uidBytes),
  };
}

function grown(columns: Columns): Columns {
  const larger = columnsOf(columns.shape.length * 2);
  for (const name of Object.keys(columns) as Array<keyof Columns>) larger[name].set(columns[name]);
  return larger;
}

/** The text under which a shape is interned: its spec is named by number, so that shapes share specs. */
function shapeText(shape: ReducedShape, spec: number): string {
  return JSON.stringify([shape.namespace, shape.labels, shape.annotations, shape.owner, spec]);
}

/** The number of the spec in a shape's text. */
export function specOfShapeText(text: string): number {
  return Number(text.slice(text.lastIndexOf(',') + 1, -1));
}

function flagsOf(shape: ReducedShape, facts: PodFacts): number {
  return (
    (facts.unschedulable ? podFlag.unschedulable : 0) |
    (facts.deleting ? podFlag.deleting : 0) |
    (facts.running ? podFlag.running : 0) |
    (facts.ready ? podFlag.ready : 0) |
    (facts.gated ? podFlag.gated : 0) |
    (isPlacedByOwner(shape.owner) ? podFlag.placedByOwner : 0)
  );
}

/** Makes an empty table. */
export function createPodTable(): PodTable {
  const rows = new Map<string, number>();
  const keys: string[] = [];
  const free: number[] = [];
  const oddUids = new Map<number, string>();
  const nodes = createInternTable();
  const shapes = createInternTable();
  const specs = createInternTable();
  let columns = columnsOf(firstRows);
  const order = createRowOrder((row) => keys[row] ?? '');

  function stateAt(row: number): PodState {
    const flags = columns.flags[row] ?? 0;
    const node = columns.node[row] ?? none;
    const nominated = columns.nominated[row] ?? none;
    const placedByOwner = (flags & podFlag.placedByOwner) !== 0;
    return {
      key: keys[row] ?? '',
      nodeName: node === none ? null : nodes.textOf(node),
      provisionable: (flags & podFlag.unschedulable) !== 0 && node === none && nominated === none && !placedByOwner,
      placedByOwner,
      deleting: (flags & podFlag.deleting) !== 0,
    };
  }

  function uidAt(row: number): string {
    const odd = oddUids.get(row);
    if (odd !== undefined) return odd;
    const hex = Buffer.from(columns.uid.buffer, row * uidBytes, uidBytes).toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }

  function setUid(row: number, uid: string): void {
    if (uuid.test(uid)) {
      oddUids.delete(row);
      columns.uid.set(Buffer.from(uid.replaceAll('-', ''), 'hex'), row * uidBytes);
    } else oddUids.set(row, uid);
  }

  function takeShape(shape: ReducedShape): number {
    const spec = specs.take(JSON.stringify(shape.spec));
    const before = shapes.size();
    const id = shapes.take(shapeText(shape, spec));
    // A shape holds its spec once, however many pods have it.
    if (shapes.size() === before) specs.release(spec);
    return id;
  }

  function releaseShape(id: number): void {
    const spec = specOfShapeText(shapes.textOf(id));
    const before = shapes.size();
    shapes.release(id);
    if (shapes.size() < before) specs.release(spec);
  }

  function releaseRow(row: number): void {
    releaseShape(columns.shape[row] ?? none);
    if (columns.node[row] !== none) nodes.release(columns.node[row] ?? none);
    if (columns.nominated[row] !== none) nodes.release(columns.nominated[row] ?? none);
  }

  function rowOf(key: string): number {
    const row = free.pop() ?? keys.length;
    while (row >= columns.shape.length) columns = grown(columns);
    rows.set(key, row);
    keys[row] = key;
    order.add(row);
    return row;
  }

  function write(row: number, shape: ReducedShape, facts: PodFacts): boolean {
    // Take before release: what stays in use keeps its number.
    const values: Array<[Int32Array | Uint8Array | Float64Array, number]> = [
      [columns.shape, takeShape(shape)],
      [columns.node, facts.nodeName === null ? none : nodes.take(facts.nodeName)],
      [columns.nominated, facts.nominatedNodeName === null ? none : nodes.take(facts.nominatedNodeName)],
      [columns.flags, flagsOf(shape, facts)],
      [columns.createdAt, facts.createdAtMs],
      [columns.startedAt, facts.startedAtMs ?? 0],
      [columns.deletionAt, facts.deletionAtMs ?? 0],
    ];
    const isNew = columns.shape[row] === none;
    const same = !isNew && values.every(([column, value]) => column[row] === value) && uidAt(row) === facts.uid;
    if (!isNew) releaseRow(row);
    for (const [column, value] of values) column[row] = value;
    if (!same) setUid(row, facts.uid);
    return same;
  }

  function remove(key: string): PodState | null {
    const row = rows.get(key);
    if (row === undefined) return null;
    const state = stateAt(row);
    releaseRow(row);
    rows.delete(key);
    oddUids.delete(row);
    order.remove(row);
    keys[row] = '';
    free.push(row);
    return state;
  }

  return {
    put(key, shape, facts, sync) {
      const known = rows.get(key);
      const row = known ?? rowOf(key);
      const before = known === undefined ? null : stateAt(row);
      if (known === undefined) columns.shape[row] = none;
      const same = write(row, shape, facts);
      columns.sync[row] = sync;
      return { same, before, after: stateAt(row) };
    },
    remove,
    removeUnseen(sync) {
      const unseen = [...rows].filter(([, row]) => columns.sync[row] !== sync).map(([key]) => key);
      return unseen.map(remove).filter((state) => state !== null);
    },
    size: () => rows.size,
    stateOf(key) {
      const row = rows.get(key);
      return row === undefined ? null : stateAt(row);
    },
    forEach(visit) {
      const shown: PodRow = {
        row: 0,
        key: '',
        shape: 0,
        createdAtMs: 0,
        nodeName: null,
        nominatedNodeName: null,
        flags: 0,
        startedAtMs: null,
        deletionAtMs: null,
      };
      for (const row of order.sorted()) {
        const node = columns.node[row] ?? none;
        const nominated = columns.nominated[row] ?? none;
        shown.row = row;
        shown.key = keys[row] ?? '';
        shown.shape = columns.shape[row] ?? none;
        shown.createdAtMs = columns.createdAt[row] ?? 0;
        shown.nodeName = node === none ? null : nodes.textOf(node);
        shown.nominatedNodeName = nominated === none ? null : nodes.textOf(nominated);
        shown.flags = columns.flags[row] ?? 0;
        shown.startedAtMs = columns.startedAt[row] || null;
        shown.deletionAtMs = columns.deletionAt[row] || null;
        visit(shown);
      }
    },
    copyUid(row, target, offset) {
      const odd = oddUids.get(row);
      if (odd !== undefined) return odd;
      target.set(columns.uid.subarray(row * uidBytes, (row + 1) * uidBytes), offset);
      return null;
    },
    shapes,
    specs,
  };
}
