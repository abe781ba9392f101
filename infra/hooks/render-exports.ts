/**
 * A deployment's outputs by name. Resource Manager does not keep the letters of outputs' names (`AZURE_LOCATION` comes
 * back as `azurE_LOCATION`); all of main.bicep's are in capitals.
 */
export function outputsOf(deployment: unknown): Readonly<Record<string, string>> {
  const { properties } = deployment as {
    readonly properties?: { readonly outputs?: Readonly<Record<string, { readonly value: unknown }>> | null };
  };
  return Object.fromEntries(
    Object.entries(properties?.outputs ?? {}).map(([name, { value }]) => [name.toUpperCase(), String(value)]),
  );
}

/** A deployment's outputs as `export NAME='value'`. */
export function renderExports(deployment: unknown): ReadonlyArray<string> {
  return Object.entries(outputsOf(deployment))
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'`)
    .toSorted();
}
