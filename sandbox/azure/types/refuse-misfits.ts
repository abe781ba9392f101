import { ArmError, requiredParameter } from '../arm/arm-error.ts';
import type { JsonObject } from '../arm/json.ts';
import { findMisfits, keepWritable, type Misfit } from './find-misfits.ts';
import type { TypeTree } from './type-tree.ts';

/**
 * Throws what Azure answers to a body that its type does not allow; else the answer is what Azure keeps of the body.
 * ARM itself reads the root, the resource provider what is below: Compute stops at the first misfit (code and words as
 * reported in azure-cli#18109 and azure-sdk-for-net#37855), Network names them all (AZ-700 lab issue #153).
 */
export function refuseMisfits(tree: TypeTree, body: JsonObject, direction: 'put' | 'patch'): JsonObject {
  const misfits = findMisfits(tree, body, direction);
  const unread = misfits.filter(({ kind }) => kind !== 'missing');
  const atRoot = unread.find(({ path }) => !path.includes('.'));
  if (atRoot !== undefined) throw invalidRequestContent(atRoot, 'ResourceDefinition');
  if (misfits.length > 0 && tree.resource.startsWith('Microsoft.Network/')) throw invalidRequestFormat(misfits);
  const [first] = unread;
  if (first !== undefined)
    throw new ArmError(400, { code: 'BadRequest', message: wordsOf(first, typeAt(first.path)) }, targetOf(tree, first));
  const [missing] = misfits;
  if (missing?.path === 'location')
    throw new ArmError(400, {
      code: 'LocationRequired',
      message: 'The location property is required for this definition.',
    });
  if (missing !== undefined) throw requiredParameter(missing.path.replace(/^properties\./, ''));
  return direction === 'put' ? keepWritable(tree, body) : body;
}

/** As ARM says it of members that it reads itself. */
function invalidRequestContent(misfit: Misfit, type: string): ArmError {
  return new ArmError(400, {
    code: 'InvalidRequestContent',
    message: `The request content was invalid and could not be deserialized: '${wordsOf(misfit, type)}'.`,
  });
}

function invalidRequestFormat(misfits: ReadonlyArray<Misfit>): ArmError {
  const details = misfits.map((misfit) => ({ code: 'InvalidJson', message: wordsOf(misfit, typeAt(misfit.path)) }));
  return new ArmError(400, { code: 'InvalidRequestFormat', message: 'Cannot parse the request.' }, { details });
}

/**
 * The words for what is unknown are Azure's but for line and column; the others are assumed after its JSON reader's.
 */
function wordsOf({ kind, path, words }: Misfit, type: string): string {
  const name = /([^.[]+)(?:\[\d+\])*$/.exec(path)?.[1] ?? path;
  if (kind === 'unknown') return `Could not find member '${name}' on object of type '${type}'. Path '${path}'.`;
  if (kind === 'missing') return `Required property '${name}' not found in JSON. Path '${path}'.`;
  return `Error converting value: '${name}' ${words}. Path '${path}'.`;
}

/** The object that a member stands in, as a type: Azure's own name of the class is not known, its member's is. */
function typeAt(path: string): string {
  const owner =
    path
      .split('.')
      .at(-2)
      ?.replace(/\[\d+\]$/, '') ?? 'ResourceDefinition';
  return `${owner.charAt(0).toUpperCase()}${owner.slice(1)}`;
}

/** Compute names the place with the kind of resource before it. */
function targetOf(tree: TypeTree, { path }: Misfit): { readonly target: string } {
  return { target: `${tree.resource.endsWith('/virtualMachines') ? 'vm' : 'vmExtension'}.${path}` };
}
