/** The parts of a subnet's id by which a node's cloud configuration names it. */
export function subnetOf(id: string): { readonly group: string; readonly vnet: string; readonly name: string } {
  const parts = id.split('/');
  return { group: parts[4] ?? '', vnet: parts[8] ?? '', name: parts[10] ?? '' };
}
