/** The file of azd's parameters: each names the variable of the environment that it comes from. */
interface AzdParameters {
  readonly parameters: Readonly<Record<string, { readonly value: unknown }>>;
}

/** What was found, by its variable, as lines for a parameter file of Bicep: for those who deploy without azd. */
export function renderParameters(
  azdParameters: string,
  found: Readonly<Record<string, string>>,
): ReadonlyArray<string> {
  const { parameters } = JSON.parse(azdParameters) as AzdParameters;
  return Object.entries(parameters).flatMap(([name, { value }]) => {
    const [, variable = ''] = /^\$\{([A-Z_]+)/.exec(String(value)) ?? [];
    const one = found[variable];
    return one === undefined ? [] : [`param ${name} = '${one.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`];
  });
}
