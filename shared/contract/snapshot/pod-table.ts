import { createInternTable, type InternTable } from './intern.ts';
import { createRowOrder } from './row-order.ts';
import { isPlacedByOwner, type PodFacts, type ReducedShape } from './reduced/reduced-pod.ts';

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

const NONE = -1;
const UID_BYTES = 16;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Rows to begin with; columns double when they are full. */
const FIRST_ROWS = 256;

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
    uid: new Uint8Array(rows * UID_BYTES),
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

/**
 * Pods in columns. A pod is a row of numbers and its name; labels, spec and owner live once per shape, and specs once
 * for all shapes that differ only in labels. So memory follows the number of shapes.
 */
export class PodTable {
  readonly shapes: InternTable = createInternTable();
  readonly specs: InternTable = createInternTable();
  readonly #nodes = createInternTable();
  readonly #rows = new Map<string, number>();
  readonly #keys: Array<string> = [];
  readonly #free: Array<number> = [];
  readonly #oddUids = new Map<number, string>();
  readonly #order = createRowOrder((row) => this.#keys[row] ?? '');
  #columns = columnsOf(FIRST_ROWS);

  /** Adds a pod or replaces what was known of it. */
  put(key: string, shape: ReducedShape, facts: PodFacts, sync: number): PodChange {
    const known = this.#rows.get(key);
    const row = known ?? this.#take(key);
    const before = known === undefined ? null : this.#stateAt(row);
    const same = this.#write(row, shape, facts);
    this.#columns.sync[row] = sync;
    return { same, before, after: this.#stateAt(row) };
  }

  /** Forgets a pod; null when it was not there. */
  remove(key: string): PodState | null {
    const row = this.#rows.get(key);
    if (row === undefined) return null;
    const state = this.#stateAt(row);
    this.#release(row);
    this.#rows.delete(key);
    this.#oddUids.delete(row);
    this.#order.remove(row);
    this.#keys[row] = '';
    this.#free.push(row);
    return state;
  }

  /** Forgets the pods that no `put` of synchronization `sync` named, and says which. */
  removeUnseen(sync: number): ReadonlyArray<PodState> {
    const unseen = [...this.#rows].filter(([, row]) => this.#columns.sync[row] !== sync).map(([key]) => key);
    return unseen.map((key) => this.remove(key)).filter((state) => state !== null);
  }

  /** How many pods there are. */
  size(): number {
    return this.#rows.size;
  }

  /** What can be told of one pod without its shape; null when it is not there. */
  stateOf(key: string): PodState | null {
    const row = this.#rows.get(key);
    return row === undefined ? null : this.#stateAt(row);
  }

  /** Calls `visit` for every pod, in the order of the keys. */
  forEach(visit: (row: PodRow) => void): void {
    const columns = this.#columns;
    const shown = emptyRow();
    for (const row of this.#order.sorted()) {
      shown.row = row;
      shown.key = this.#keys[row] ?? '';
      shown.shape = columns.shape[row] ?? NONE;
      shown.createdAtMs = columns.createdAt[row] ?? 0;
      shown.nodeName = this.#nodeName(columns.node[row]);
      shown.nominatedNodeName = this.#nodeName(columns.nominated[row]);
      shown.flags = columns.flags[row] ?? 0;
      shown.startedAtMs = columns.startedAt[row] || null;
      shown.deletionAtMs = columns.deletionAt[row] || null;
      visit(shown);
    }
  }

  /** What pods with the shape of this number share; for as long as one has it. */
  shapeOf(id: number): Pick<ReducedShape, 'namespace' | 'owner' | 'spec'> {
    const text = this.shapes.textOf(id);
    const [namespace, , , owner] = JSON.parse(text) as [string, unknown, unknown, ReducedShape['owner'], number];
    return { namespace, owner, spec: JSON.parse(this.specs.textOf(specOfShapeText(text))) as ReducedShape['spec'] };
  }

  /**
   * Writes the 16 bytes of a pod's UID at `offset`. A UID of another form is given back as text, and nothing written.
   */
  copyUid(row: number, target: Uint8Array, offset: number): string | null {
    const odd = this.#oddUids.get(row);
    if (odd !== undefined) return odd;
    target.set(this.#columns.uid.subarray(row * UID_BYTES, (row + 1) * UID_BYTES), offset);
    return null;
  }

  #take(key: string): number {
    const row = this.#free.pop() ?? this.#keys.length;
    if (row >= this.#columns.shape.length) this.#columns = grown(this.#columns);
    this.#columns.shape[row] = NONE;
    this.#rows.set(key, row);
    this.#keys[row] = key;
    this.#order.add(row);
    return row;
  }

  #nodeName(id: number | undefined): string | null {
    return id === undefined || id === NONE ? null : this.#nodes.textOf(id);
  }

  #stateAt(row: number): PodState {
    const flags = this.#columns.flags[row] ?? 0;
    const nodeName = this.#nodeName(this.#columns.node[row]);
    const isFree = nodeName === null && this.#columns.nominated[row] === NONE;
    const placedByOwner = (flags & podFlag.placedByOwner) !== 0;
    return {
      key: this.#keys[row] ?? '',
      nodeName,
      provisionable: isFree && (flags & podFlag.unschedulable) !== 0 && !placedByOwner,
      placedByOwner,
      deleting: (flags & podFlag.deleting) !== 0,
    };
  }

  /** Writes a row; true when it says what it said before. */
  #write(row: number, shape: ReducedShape, facts: PodFacts): boolean {
    const columns = this.#columns;
    const take = (node: string | null): number => (node === null ? NONE : this.#nodes.take(node));
    // Take before release: what stays in use keeps its number.
    const values: ReadonlyArray<readonly [Int32Array | Uint8Array | Float64Array, number]> = [
      [columns.shape, this.#takeShape(shape)],
      [columns.node, take(facts.nodeName)],
      [columns.nominated, take(facts.nominatedNodeName)],
      [columns.flags, flagsOf(shape, facts)],
      [columns.createdAt, facts.createdAtMs],
      [columns.startedAt, facts.startedAtMs ?? 0],
      [columns.deletionAt, facts.deletionAtMs ?? 0],
    ];
    const isNew = columns.shape[row] === NONE;
    const same = !isNew && values.every(([column, value]) => column[row] === value) && this.#uidAt(row) === facts.uid;
    if (!isNew) this.#release(row);
    for (const [column, value] of values) column[row] = value;
    if (!same) this.#setUid(row, facts.uid);
    return same;
  }

  #release(row: number): void {
    this.#releaseShape(this.#columns.shape[row] ?? NONE);
    for (const column of [this.#columns.node, this.#columns.nominated]) {
      const id = column[row] ?? NONE;
      if (id !== NONE) this.#nodes.release(id);
    }
  }

  #takeShape(shape: ReducedShape): number {
    const spec = this.specs.take(JSON.stringify(shape.spec));
    const before = this.shapes.size();
    const id = this.shapes.take(shapeText(shape, spec));
    // A shape holds its spec once, however many pods have it.
    if (this.shapes.size() === before) this.specs.release(spec);
    return id;
  }

  #releaseShape(id: number): void {
    const spec = specOfShapeText(this.shapes.textOf(id));
    const before = this.shapes.size();
    this.shapes.release(id);
    if (this.shapes.size() < before) this.specs.release(spec);
  }

  #uidAt(row: number): string {
    const odd = this.#oddUids.get(row);
    if (odd !== undefined) return odd;
    const hex = Buffer.from(this.#columns.uid.buffer, row * UID_BYTES, UID_BYTES).toString('hex');
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }

  #setUid(row: number, uid: string): void {
    if (uuid.test(uid)) {
      this.#oddUids.delete(row);
      this.#columns.uid.set(Buffer.from(uid.replaceAll('-', ''), 'hex'), row * UID_BYTES);
    } else this.#oddUids.set(row, uid);
  }
}

function emptyRow(): PodRow {
  return {
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
}
