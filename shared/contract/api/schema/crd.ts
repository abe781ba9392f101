import type { KindDefinition, KindVersion } from './kind.ts';
import type { StructuralSchema } from './structural.ts';

type Json = Readonly<Record<string, unknown>>;

/** Keywords that go into a CRD as they are. `fix` and the code of rules stay here. */
const plainKeywords = [
  'type',
  'format',
  'description',
  'default',
  'enum',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'maxItems',
  'maxProperties',
  'required',
  'anyOf',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
] as const satisfies ReadonlyArray<keyof StructuralSchema>;

function renderSchema(schema: StructuralSchema): Json {
  const result: Record<string, unknown> = {};
  for (const keyword of plainKeywords) {
    if (schema[keyword] !== undefined) result[keyword] = schema[keyword];
  }
  if (schema.properties !== undefined) {
    result['properties'] = Object.fromEntries(
      Object.entries(schema.properties).map(([field, each]) => [field, renderSchema(each)]),
    );
  }
  if (schema.items !== undefined) result['items'] = renderSchema(schema.items);
  if (schema.additionalProperties !== undefined) {
    result['additionalProperties'] = renderSchema(schema.additionalProperties);
  }
  if (schema['x-kubernetes-validations'] !== undefined) {
    result['x-kubernetes-validations'] = schema['x-kubernetes-validations'].map(({ rule, message }) => ({
      message,
      rule,
    }));
  }
  return result;
}

function renderVersion(definition: KindDefinition, version: KindVersion): Json {
  const { columns, scale, spec, specRequired, status, description } = definition;
  return {
    name: version.name,
    served: true,
    storage: version === definition.versions[0],
    ...(version.deprecationWarning === null
      ? {}
      : { deprecated: true, deprecationWarning: version.deprecationWarning }),
    additionalPrinterColumns: columns,
    subresources: {
      status: {},
      ...(scale === null ? {} : { scale: { specReplicasPath: scale.spec, statusReplicasPath: scale.status } }),
    },
    schema: {
      openAPIV3Schema: {
        type: 'object',
        description,
        ...(specRequired ? { required: ['spec'] } : {}),
        properties: {
          apiVersion: { type: 'string', description: 'Group and version of the API.' },
          kind: { type: 'string', description: 'Kind of the object.' },
          metadata: { type: 'object' },
          spec: renderSchema(spec),
          status: renderSchema(status),
        },
      },
    },
  };
}

/** The CustomResourceDefinition of a kind, ready to be applied. */
export function renderCrd(definition: KindDefinition): Json {
  const { group, kind, plural, shortNames, categories, scope, versions } = definition;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(shortNames.length === 0 ? {} : { shortNames }),
        categories,
      },
      versions: versions.map((version) => renderVersion(definition, version)),
    },
  };
}
