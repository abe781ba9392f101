import type { TSchema } from 'typebox';

/** A column that `kubectl get` shows; `priority` 1 only with `-o wide`. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly jsonPath: string;
  readonly priority?: 1;
  readonly description?: string;
}

/** A version under which a kind is served. The first of a kind is the one that is stored. */
export interface KindVersion {
  readonly name: string;
  /** What a client is told that still uses it; null where it is current. */
  readonly deprecationWarning: string | null;
}

/** Everything a CRD says about one kind. */
export interface KindDefinition {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly shortNames: ReadonlyArray<string>;
  readonly categories: ReadonlyArray<string>;
  readonly scope: 'Cluster' | 'Namespaced';
  readonly versions: readonly [KindVersion, ...Array<KindVersion>];
  readonly columns: ReadonlyArray<PrinterColumn>;
  /** Paths of the scale subresource, or null where there is none. Every kind has a status subresource. */
  readonly scale: { readonly spec: string; readonly status: string } | null;
  readonly description: string;
  readonly spec: TSchema;
  readonly specRequired: boolean;
  /** Fields that were of earlier versions, by path, and where what they said is said now. The CRD does not have it. */
  readonly moved: Readonly<Record<string, string>>;
  readonly status: TSchema;
}

/** Column `Ready`: the root condition. */
export const readyColumn: PrinterColumn = {
  name: 'Ready',
  type: 'string',
  jsonPath: '.status.conditions[?(@.type=="Ready")].status',
};

/** Column `Age`. */
export const ageColumn: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
