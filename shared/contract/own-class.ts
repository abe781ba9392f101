import { AZURE_GROUP } from './names.ts';

/** What a NodePool or NodeClaim says of its class. */
interface ClassReference {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
}

interface Pool {
  readonly spec: { readonly template: { readonly spec: { readonly nodeClassRef: ClassReference } } };
}

/** Is it an AKSNodeClass, so that the nodes are ours to make? Classes of other providers may have the same names. */
export function isOwnClass({ group, kind }: Pick<ClassReference, 'group' | 'kind'>): boolean {
  return group === AZURE_GROUP && kind === 'AKSNodeClass';
}

/** Is it the AKSNodeClass of this name? */
export function isOwnClassNamed(reference: ClassReference, name: string): boolean {
  return isOwnClass(reference) && reference.name === name;
}

/** Are the pool's nodes ours to make? A pool of another provider is left alone. */
export function isOwnPool({ spec }: Pool): boolean {
  return isOwnClass(spec.template.spec.nodeClassRef);
}

/** The pools whose nodes are ours to make, and those of other providers. */
export function poolsByProvider<Given extends Pool>(
  pools: ReadonlyArray<Given>,
): { readonly own: ReadonlyArray<Given>; readonly foreign: ReadonlyArray<Given> } {
  return { own: pools.filter(isOwnPool), foreign: pools.filter((pool) => !isOwnPool(pool)) };
}
