import { type BicepFile, type BicepFiles, allBelow, propertiesOf } from './parse.ts';
import { evaluate, plain } from './value.ts';

/** Built-in roles that are used, by id: learn, "Azure built-in roles", read 2026-11. */
const BUILT_IN: Readonly<Record<string, string>> = {
  'b7e6dc6d-f1e8-4753-8033-0f276bb0955b': 'storageBlobDataOwner',
  'ba92f5b4-2d11-453d-a403-e96b0029c9fe': 'storageBlobDataContributor',
  '3913510d-42f4-4e42-8a64-420c390055eb': 'monitoringMetricsPublisher',
  '090c5cfd-751d-490a-894a-3ce6f1109419': 'azureServiceBusDataOwner',
  '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0': 'azureServiceBusDataReceiver',
  '69a216fc-b8fb-44d8-bc22-1f3c2cd27a39': 'azureServiceBusDataSender',
  '7f951dda-4ed3-4680-a7ca-43fe172d538d': 'acrPull',
};

const GUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Ids of built-in roles that are not on the list, or stand under another role's name. */
export function builtInFaults(files: BicepFiles): ReadonlyArray<string> {
  return [...files.values()].flatMap((file) =>
    allBelow(file.tree).flatMap((node) => {
      if (node.type !== 'string_content' || !GUID.test(node.text)) return [];
      const at = `${file.path}:${node.startPosition.row + 1}: ${node.text}`;
      const name = BUILT_IN[node.text];
      if (name === undefined) return [`${at} is no role that is known here`];
      const said = saidName(node);
      return said.toLowerCase() === name.toLowerCase() ? [] : [`${at} is ${name}, and not ${said}`];
    }),
  );
}

/** The name that an id stands under: a property's, or a variable's, without blanks. */
function saidName(node: { readonly parent: Parameters<typeof allBelow>[0] | null }): string {
  let current = node.parent;
  while (current !== null && current.type !== 'object_property' && current.type !== 'variable_declaration')
    current = current.parent;
  const [name] = current?.namedChildren ?? [];
  return (name?.text ?? '').replaceAll(/[' ]/g, '');
}

/** The actions of the custom roles, by the file that defines the role. */
export function grantedActions(files: BicepFiles): ReadonlyMap<string, ReadonlyArray<string>> {
  return new Map(
    [...files.values()].flatMap((file) => {
      const actions = actionsOf(files, file);
      return actions === null ? [] : [[file.path, actions] as const];
    }),
  );
}

function actionsOf(files: BicepFiles, file: BicepFile): ReadonlyArray<string> | null {
  const role = file.declarations.find(({ target }) => target.startsWith('Microsoft.Authorization/roleDefinitions@'));
  const properties = role === undefined ? undefined : propertiesOf(role.body).get('properties');
  const permissions = properties === undefined ? undefined : propertiesOf(properties).get('permissions');
  if (permissions === undefined) return null;
  const read = plain(evaluate(files, file, permissions)) as ReadonlyArray<{ readonly actions: ReadonlyArray<string> }>;
  return read.flatMap(({ actions }) => actions);
}

/**
 * The role in the cluster's own groups has what each narrower role has: it stands in their place where nothing is
 * elsewhere.
 */
const MACHINES = 'modules/access/machine-role.bicep';
const REGION = 'modules/access/region-role.bicep';
/** In place of the first for what is in a group of the customer's own: no more than that has. */
const NARROWER = ['modules/access/subnet-role.bicep'];
/**
 * The kubelet identity, wherever it is: other identities in the cluster's own groups are not to be given to machines.
 */
const IDENTITY = 'modules/access/identity-role.bicep';
const ASSIGN = 'Microsoft.ManagedIdentity/userAssignedIdentities/assign/action';
/** What is always in a group of the customer's own. */
const ENCRYPTION = 'modules/access/encryption-role.bicep';
/** The managed cluster itself, which is in a group of the customer's too. */
const MAINTENANCE = 'modules/access/maintenance-role.bicep';

/**
 * Actions that a call needs and no role has, and those that no call needs. `needed`: action by the call that needs it.
 */
export function roleFaults(files: BicepFiles, needed: ReadonlyMap<string, string>): ReadonlyArray<string> {
  const granted = grantedActions(files);
  const all = new Set([MACHINES, REGION, IDENTITY, ENCRYPTION, MAINTENANCE].flatMap((path) => granted.get(path) ?? []));
  const unneeded = [...granted].flatMap(([path, actions]) =>
    actions
      .filter((action) => ![...needed.values()].includes(action))
      .map((action) => `${path}: no call needs ${action}`),
  );
  return [
    ...[...needed].filter(([, action]) => !all.has(action)).map(([call, action]) => `${call} needs ${action}`),
    ...unneeded,
    ...[...granted].flatMap(([path, actions]) =>
      actions.filter((action) => action.includes('*')).map((action) => `${path}: ${action} grants more than one thing`),
    ),
    ...NARROWER.flatMap((path) =>
      (granted.get(path) ?? [])
        .filter((action) => granted.get(MACHINES)?.includes(action) !== true)
        .map((action) => `${path}: ${action} is not in ${MACHINES}`),
    ),
    ...[...granted.keys()]
      .filter((path) => ![MACHINES, REGION, IDENTITY, ENCRYPTION, MAINTENANCE, ...NARROWER].includes(path))
      .map((path) => `${path}: defines a role that nobody compares`),
    ...[...granted].flatMap(([path, actions]) =>
      path !== IDENTITY && actions.includes(ASSIGN)
        ? [`${path}: ${ASSIGN} reaches identities that are not the kubelet’s`]
        : [],
    ),
    ...elsewhere(granted, needed),
  ];
}

/** What needs a subscription as its scope, and what does not: sizes, quota and images belong to no resource group. */
function elsewhere(
  granted: ReadonlyMap<string, ReadonlyArray<string>>,
  needed: ReadonlyMap<string, string>,
): ReadonlyArray<string> {
  const ofSubscription = (action: string): boolean =>
    /^Microsoft\.(Compute\/(locations|skus)|ResourceGraph)\//.test(action) && [...needed.values()].includes(action);
  return [
    ...(granted.get(REGION) ?? [])
      .filter((action) => !ofSubscription(action))
      .map((action) => `${REGION}: ${action} could be granted at a smaller scope`),
    ...(granted.get(MACHINES) ?? [])
      .filter(ofSubscription)
      .map((action) => `${MACHINES}: ${action} does nothing at a resource group`),
  ];
}
