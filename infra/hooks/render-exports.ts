/**
 * A deployment's outputs as `export NAME='value'`. Resource Manager does not keep the letters of outputs' names
 * (`AZURE_LOCATION` comes back as `azurE_LOCATION`); all of main.bicep's are in capitals.
 */
export function renderExports(deployment: unknown): ReadonlyArray<string> {
  const { properties } = deployment as {
    readonly properties?: { readonly outputs?: Readonly<Record<string, { readonly value: unknown }>> | null };
  };
  return Object.entries(properties?.outputs ?? {})
    .map(([name, { value }]) => `export ${name.toUpperCase()}='${String(value).replaceAll("'", "'\\''")}'`)
    .toSorted();
}
