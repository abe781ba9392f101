/** What the code that azd shares says in azd's words, in those of this command. */
const TRANSLATIONS: ReadonlyArray<readonly [RegExp, string]> = [
  [/,? and azd env set AZURE_SUBSCRIPTION_ID \S+/g, ''],
  [/run azd env set NODEWRIGHT_CLUSTER_ID /g, 'give --cluster '],
  [/azd env set AZURE_LOCATION (to )?/g, 'give --location '],
  [/run azd env set (\w+) (to )?/g, 'set the variable $1 to '],
  [/azd env set (\w+) (to )?/g, 'set the variable $1 to '],
  [/run azd provision first/g, 'nodewright deploy makes them'],
  [/run it in the folder of azd's environment, or after .*/g, 'nodewright deploy makes them'],
];

/** A sentence of the hooks, for somebody who has typed `nodewright`. */
export function sayItHere(text: string): string {
  return TRANSLATIONS.reduce((said, [pattern, own]) => said.replace(pattern, own), text);
}
