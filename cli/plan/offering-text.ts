/** A size without the word that all have: `D4s_v5`. */
export function sizeText(instanceType: string): string {
  return instanceType.replace(/^Standard_/, '');
}

/** `1` for `westeurope-1`: the region is the same for all. A machine without a zone has `-`. */
export function zoneText(zone: string): string {
  return zone === '0' ? '-' : (/-(\d+)$/.exec(zone)?.[1] ?? zone);
}
