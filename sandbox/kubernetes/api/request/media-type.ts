import { StatusError } from '../status-error.ts';

/** How a client wants objects shown. */
export interface Presentation {
  readonly as: 'object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  /** Version of meta.k8s.io for the transformed forms. */
  readonly version: string;
  readonly format: 'json' | 'yaml';
}

const asObject: Presentation = { as: 'object', version: 'v1', format: 'json' };

function parameters(part: string): { readonly type: string; readonly values: ReadonlyMap<string, string> } {
  const [type = '', ...rest] = part.split(';').map((text) => text.trim());
  const values = new Map(
    rest.map((text): [string, string] => {
      const equals = text.indexOf('=');
      return [text.slice(0, equals), text.slice(equals + 1)];
    }),
  );
  return { type: type.toLowerCase(), values };
}

function presentationOf(part: string): Presentation | null {
  const { type, values } = parameters(part);
  const format = type === 'application/yaml' ? 'yaml' : 'json';
  if (!['application/json', 'application/yaml', '*/*', 'application/*'].includes(type)) return null;
  const as = values.get('as');
  if (as === undefined) return { ...asObject, format };
  const version = values.get('v') ?? 'v1';
  if (values.get('g') !== 'meta.k8s.io' || !['v1', 'v1beta1'].includes(version)) return null;
  const isKnown = as === 'Table' || as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList';
  return isKnown ? { as, version, format } : null;
}

/** The first form of an Accept header that the server can give; throws 406 when there is none. */
export function negotiate(accept: string): Presentation {
  if (accept.trim() === '') return asObject;
  for (const part of accept.split(',')) {
    const found = presentationOf(part.trim());
    if (found !== null) return found;
  }
  const why = 'only the following media types are accepted: application/json, application/yaml';
  throw new StatusError(406, 'NotAcceptable', why);
}
