import type { Node } from 'web-tree-sitter';
import { type BicepFile, type BicepFiles, type Declaration, propertiesOf } from './parse.ts';
import { pathOf } from './value.ts';

/** A resource that may be made outside the deployment's own resource group. */
export interface MadeOutside {
  /** Names of the modules from main.bicep on, and of the resource: `budget/budget`. */
  readonly place: string;
  readonly type: string;
}

/** Where a file is deployed to: the resource group that the deployment makes, or anything else. */
type Where = 'own' | 'elsewhere';

/** Parameters of a file that are names of resource groups, as far as they are known to be the own one. */
type Groups = ReadonlyMap<string, Where>;

const OWN_GROUP = 'Microsoft.Resources/resourceGroups';

/** Resources that stay when the deployment's resource group is deleted. What may be elsewhere counts as if it were. */
export function madeOutside(files: BicepFiles): ReadonlyArray<MadeOutside> {
  return resourcesBelow(files, 'main.bicep', { where: 'elsewhere', groups: new Map(), path: [] });
}

interface Visit {
  readonly where: Where;
  readonly groups: Groups;
  readonly path: ReadonlyArray<string>;
}

function resourcesBelow(files: BicepFiles, name: string, visit: Visit): ReadonlyArray<MadeOutside> {
  const file = files.get(name);
  if (file === undefined) throw new Error(`${name} is not there`);
  return file.declarations.flatMap((one) => {
    const path = [...visit.path, one.symbol];
    if (one.kind === 'module') return resourcesBelow(files, pathOf(file, one.target), inModule(file, one, visit));
    const [type = ''] = one.target.split('@');
    const stays = visit.where === 'elsewhere' && !one.isExisting && type !== OWN_GROUP;
    return stays ? [{ place: path.join('/'), type }] : [];
  });
}

function inModule(file: BicepFile, { symbol, body }: Declaration, visit: Visit): Visit {
  const properties = propertiesOf(body);
  const params = properties.get('params');
  const given = params === undefined ? [] : [...propertiesOf(params)];
  const groups = new Map(given.map(([name, value]) => [name, groupOf(value, visit)] as const));
  const scope = properties.get('scope');
  const where = scope === undefined ? visit.where : scopeOf(file, scope, visit);
  return { where, groups, path: [...visit.path, symbol] };
}

/** `group`, where that is the group that is made; `resourceGroup(name)` with a name that is known to be its. */
function scopeOf(file: BicepFile, scope: Node, visit: Visit): Where {
  const isOwn = file.declarations.some(
    ({ symbol, target, isExisting }) => symbol === scope.text && target.startsWith(`${OWN_GROUP}@`) && !isExisting,
  );
  if (isOwn) return 'own';
  const [, name = ''] = /^resourceGroup\(([\w.()]+)\)$/.exec(scope.text) ?? [];
  return nameOf(name, visit);
}

function groupOf(value: Node, visit: Visit): Where {
  return nameOf(value.text, visit);
}

function nameOf(text: string, { where, groups }: Visit): Where {
  return text === 'resourceGroup().name' ? where : (groups.get(text) ?? 'elsewhere');
}
