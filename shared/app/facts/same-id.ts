/**
 * Whether both name one machine. Azure changes the case of resource ids as it likes; what is not known is not the same.
 */
export function isSameId(have: string | undefined, want: string | undefined): boolean {
  return have !== undefined && want !== undefined && have.toLowerCase() === want.toLowerCase();
}
