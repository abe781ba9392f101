import type { Node } from 'web-tree-sitter';
import { type BicepFiles, allBelow, namedOf, propertiesOf, textOf } from './parse.ts';

/** Functions that answer with keys, or with what a key is part of. */
const TELLS_KEYS = /^(list\w*|getSecret)$/;

/** The one such function that is called: of the kubeconfig that it answers only the public certificate is used. */
const HARMLESS = new Set(['listClusterUserCredential']);

/** Names of what lets somebody in, in properties and parameters. */
const SECRET_NAME = /connectionString$|instrumentationKey|password|secret|accountKey|sharedKey|sas(Token)?$/i;

/** Names that look like that and are none: an address, and the words of switches that turn keys off. */
const NO_SECRET = new Set(['APPLICATIONINSIGHTS_CONNECTION_STRING', 'ConnectionString', 'allowSharedKeyAccess']);

/** Keys, and outputs that tell what nobody needs to be told. */
export function secretFaults(files: BicepFiles): ReadonlyArray<string> {
  return [...files.values()].flatMap((file) => {
    const at = (node: Node): string => `${file.path}:${node.startPosition.row + 1}: ${node.text.split('\n')[0]}`;
    const calls = allBelow(file.tree).filter((node) => TELLS_KEYS.test(calledBy(node)));
    const inOutputs = [...file.outputs.values()].flatMap(({ value }) =>
      allBelow(value).filter((node) => TELLS_KEYS.test(calledBy(node)) || isSecretName(node.text, new Set())),
    );
    const secure = [...file.outputs.values()].filter(({ value }) =>
      allBelow(value).some(({ text }) => file.parameters.get(text)?.decorators.has('secure') === true),
    );
    const named = [...file.parameters.values()].filter(({ name }) => isSecretName(name, NO_SECRET));
    return [
      ...calls.filter((node) => !HARMLESS.has(calledBy(node))).map((node) => `${at(node)} answers with keys`),
      ...inOutputs.map((node) => `${at(node)} is a secret in an output`),
      ...secure.map(({ line, name }) => `${file.path}:${line}: output ${name} tells a secure parameter`),
      ...named.map(({ line, name }) => `${file.path}:${line}: parameter ${name} is named like a secret`),
      ...settingsWithSecrets(file.tree).map((node) => `${at(node)} is a secret in a property`),
    ];
  });
}

/** Switches that keep keys from working, by resource type: each has to be there. */
const SWITCHES: ReadonlyArray<readonly [type: string, property: string, value: string]> = [
  ['Microsoft.Storage/storageAccounts', 'allowSharedKeyAccess', 'false'],
  ['Microsoft.Storage/storageAccounts', 'allowBlobPublicAccess', 'false'],
  ['Microsoft.Storage/storageAccounts', 'isLocalUserEnabled', 'false'],
  ['Microsoft.ServiceBus/namespaces', 'disableLocalAuth', 'true'],
  ['Microsoft.Insights/components', 'DisableLocalAuth', 'true'],
  ['Microsoft.ContainerRegistry/registries', 'adminUserEnabled', 'false'],
  ['Microsoft.Web/sites', 'httpsOnly', 'true'],
];

/** Resources that could be entered with a key. */
export function switchFaults(files: BicepFiles): ReadonlyArray<string> {
  return [...files.values()].flatMap((file) =>
    file.declarations.flatMap(({ target, isExisting, body, line, symbol }) => {
      const [type] = target.split('@');
      const inner = propertiesOf(body).get('properties');
      const properties = inner === undefined ? new Map<string, Node>() : propertiesOf(inner);
      return SWITCHES.filter(([of]) => of === type && !isExisting).flatMap(([, name, value]) =>
        properties.get(name)?.text === value ? [] : [`${file.path}:${line}: ${symbol} does not say ${name}: ${value}`],
      );
    }),
  );
}

/** Hosts of one cloud, which environment() knows for all. */
const HOSTS =
  /management\.azure\.com|login\.microsoftonline\.com|core\.windows\.net|database\.windows\.net|vault\.azure\.net/;

export function urlFaults(files: BicepFiles): ReadonlyArray<string> {
  return [...files.values()].flatMap((file) =>
    allBelow(file.tree)
      .filter((node) => node.type === 'string_content' && HOSTS.test(node.text))
      .map((node) => `${file.path}:${node.startPosition.row + 1}: ${node.text} is of one cloud only`),
  );
}

function calledBy(node: Node): string {
  const [called] = node.type === 'call_expression' ? namedOf(node) : [];
  return called?.type === 'member_expression' ? (namedOf(called)[1]?.text ?? '') : (called?.text ?? '');
}

function isSecretName(name: string, but: ReadonlySet<string>): boolean {
  return SECRET_NAME.test(name) && !but.has(name) && !name.includes(' ') && !name.includes('\n');
}

/** Properties that carry a value under the name of a secret. */
function settingsWithSecrets(tree: Node): ReadonlyArray<Node> {
  return allBelow(tree).filter((node) => {
    const [name, value] = node.type === 'object_property' ? namedOf(node) : [];
    if (name === undefined || value === undefined || value.type === 'boolean') return false;
    return isSecretName(name.type === 'string' ? (textOf(name) ?? '') : name.text, NO_SECRET);
  });
}
