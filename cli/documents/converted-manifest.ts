export type Fields = Readonly<Record<string, unknown>>;

/** An object to write, as YAML will have it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: 'NodePool' | 'AKSNodeClass';
  readonly metadata: { readonly name: string; readonly labels?: Fields; readonly annotations?: Fields };
  readonly spec: Fields;
}
