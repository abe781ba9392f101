import { at, isObject, type JsonObject, listAt, objectAt, textAt } from '../json.ts';
import { readGenerated, type Resource } from '../registry/resources.ts';
import { type SchemaNode, toSchemaNode } from './schema-node.ts';

/** The schemas of all that is served, by group, version and kind. */
export interface Schemas {
  of(group: string, version: string, kind: string): SchemaNode | null;
  ofResource(resource: Resource): SchemaNode | null;
  /** The built-in definitions, by name, without prose. */
  definitions(): JsonObject;
  /** Replaces the schemas of a custom resource. */
  setDefined(definition: string, kinds: ReadonlyArray<DefinedSchema>): void;
  defined(): ReadonlyArray<DefinedSchema>;
}

/** The schema of a custom resource's version, as its definition gives it. */
export interface DefinedSchema {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly schema: JsonObject;
}

const metaName = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

function indexByKind(definitions: JsonObject): ReadonlyMap<string, JsonObject> {
  const index = new Map<string, JsonObject>();
  for (const schema of Object.values(definitions)) {
    if (!isObject(schema)) continue;
    const kinds = listAt(schema, 'x-kubernetes-group-version-kind');
    // Options such as DeleteOptions carry every group; they are nobody's object.
    if (kinds.length !== 1) continue;
    const key = `${textAt(kinds, 0, 'group')}/${textAt(kinds, 0, 'version')}/${textAt(kinds, 0, 'kind')}`;
    index.set(key, schema);
  }
  return index;
}

/** A custom resource's schema with apiVersion, kind and metadata, which definitions may leave out. */
function withObjectFields(schema: JsonObject): JsonObject {
  const properties = {
    ...objectAt(schema, 'properties'),
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    metadata: { $ref: `#/components/schemas/${metaName}` },
  };
  return { ...schema, type: 'object', properties };
}

/** The built-in schemas, ready to take those of custom resources. */
export function createSchemas(): Schemas {
  const definitions = readGenerated('definitions') as JsonObject;
  const builtIn = indexByKind(definitions);
  const resolve = (name: string): JsonObject | undefined => {
    const found = at(definitions, name);
    return isObject(found) ? found : undefined;
  };
  const nodes = new Map<string, SchemaNode>();
  const definedBy = new Map<string, ReadonlyArray<DefinedSchema>>();
  const of = (group: string, version: string, kind: string): SchemaNode | null => {
    const key = `${group}/${version}/${kind}`;
    const known = nodes.get(key);
    if (known !== undefined) return known;
    const schema = builtIn.get(key);
    if (schema === undefined) return null;
    const node = toSchemaNode(schema, resolve);
    nodes.set(key, node);
    return node;
  };
  return {
    of,
    ofResource: ({ group, version, kind }) => of(group, version, kind),
    definitions: () => definitions,
    defined: () => [...definedBy.values()].flat(),
    setDefined(definition, kinds) {
      for (const { group, version, kind } of definedBy.get(definition) ?? [])
        nodes.delete(`${group}/${version}/${kind}`);
      definedBy.set(definition, kinds);
      for (const { group, version, kind, schema } of kinds) {
        nodes.set(`${group}/${version}/${kind}`, toSchemaNode(withObjectFields(schema), resolve));
      }
    },
  };
}
