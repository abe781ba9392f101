/**
 * A small language for "the part of this JSON that we keep". One table per Kubernetes kind says what is kept, in what
 * order; it reduces raw objects when they arrive, checks snapshots when they are parsed, and gives the types. Reading
 * is total: no JSON value makes it throw. What it gives is canonical: equal content has equal JSON text.
 */
export interface Field<T> {
  /** The kept part of `value`, sharing nothing with it; undefined when it is absent or of another type. */
  readonly read: (value: unknown) => T | undefined;
}

/** A field without which the object around it cannot be read. */
export interface NeededField<T> extends Field<T> {
  readonly needed: true;
}

type Fields = Readonly<Record<string, Field<unknown>>>;
type NeededNames<F> = { [K in keyof F]: F[K] extends NeededField<unknown> ? K : never }[keyof F];

/** What a field gives. */
export type Of<F> = F extends Field<infer T> ? T : never;

type ObjectOf<F> = { readonly [K in NeededNames<F>]: Of<F[K]> } & {
  readonly [K in Exclude<keyof F, NeededNames<F>>]?: Of<F[K]>;
};

/** True for JSON objects, false for null and lists. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Text. */
export const text: Field<string> = {
  read: (value) => (typeof value === 'string' ? value : undefined),
};

/** A finite number. */
export const number: Field<number> = {
  read: (value) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined),
};

/** True or false. */
export const flag: Field<boolean> = {
  read: (value) => (typeof value === 'boolean' ? value : undefined),
};

/** A quantity or int-or-string in either of its JSON forms. */
export const textOrNumber: Field<string | number> = {
  read: (value) => text.read(value) ?? number.read(value),
};

/** Text, or null where null says something else than absence. */
export const textOrNull: Field<string | null> = {
  read: (value) => (value === null ? null : text.read(value)),
};

/** An object whose presence is all that counts: its content is dropped. */
export const presence: Field<object> = {
  read: (value) => (isRecord(value) ? {} : undefined),
};

/** Makes a field needed. */
export function needed<T>(field: Field<T>): NeededField<T> {
  return { read: field.read, needed: true };
}

/**
 * A list of alike elements. One element that cannot be read makes the list unreadable: half a selector is a wrong one.
 */
export function list<T>(element: Field<T>): Field<ReadonlyArray<T>> {
  return {
    read(value) {
      if (!Array.isArray(value)) return undefined;
      const entries: ReadonlyArray<unknown> = value;
      // Made when the first element is read as something else: columns of a snapshot have hundreds of thousands.
      let read: Array<T> | null = null;
      for (let index = 0; index < entries.length; index++) {
        const kept = element.read(entries[index]);
        if (kept === undefined) return undefined;
        if (read === null && kept !== entries[index]) read = entries.slice(0, index) as Array<T>;
        read?.push(kept);
      }
      return read ?? (entries as ReadonlyArray<T>);
    },
  };
}

/** Keys to alike values, sorted by key; `keep` chooses the keys. Entries that cannot be read are dropped. */
export function record<T>(
  element: Field<T>,
  keep: (key: string) => boolean = () => true,
): Field<Readonly<Record<string, T>>> {
  return {
    read(value) {
      if (!isRecord(value)) return undefined;
      const entries: Array<[string, T]> = [];
      for (const key of Object.keys(value).toSorted()) {
        const kept = keep(key) ? element.read(value[key]) : undefined;
        if (kept !== undefined) entries.push([key, kept]);
      }
      return Object.fromEntries(entries);
    },
  };
}

/** An object of known fields, in the table's order. */
export function object<F extends Fields>(fields: F): Field<ObjectOf<F>> {
  const entries = Object.entries(fields);
  return {
    read(value) {
      if (!isRecord(value)) return undefined;
      const read: Record<string, unknown> = {};
      for (const [name, field] of entries) {
        const kept = field.read(value[name]);
        if (kept !== undefined) read[name] = kept;
        else if ('needed' in field) return undefined;
      }
      return read as ObjectOf<F>;
    },
  };
}

/** Keeps what `keep` says of a list that was read: for lists of which a decision reads some elements only. */
export function only<T>(field: Field<ReadonlyArray<T>>, keep: (element: T) => boolean): Field<ReadonlyArray<T>> {
  return {
    read(value) {
      const kept = field.read(value)?.filter(keep);
      return kept === undefined || kept.length === 0 ? undefined : kept;
    },
  };
}

/** Deepest nesting that `json` follows; Kubernetes' own objects stay far below. */
const DEEPEST = 32;

/** Any JSON, with the keys of objects sorted. Deeper than 32 levels it is cut. */
export const json: Field<unknown> = { read: (value) => canonical(value, DEEPEST) };

function canonical(value: unknown, levels: number): unknown {
  if (levels === 0) return undefined;
  if (Array.isArray(value)) return value.map((entry) => canonical(entry, levels - 1) ?? null);
  if (!isRecord(value)) return value;
  const entries = Object.keys(value)
    .toSorted()
    .map((key) => [key, canonical(value[key], levels - 1)] as const);
  return Object.fromEntries(entries);
}
