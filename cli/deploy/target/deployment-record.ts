import type { Ask } from '../../../infra/hooks/az.ts';
import { explainRefusal } from '../../../infra/hooks/explain-refusal.ts';
import { outputsOf } from '../../../infra/hooks/render-exports.ts';
import { sayItHere } from '../say-it-here.ts';
import { Stopped } from '../stopped.ts';

/**
 * What Azure keeps of a deployment: the one thing that is remembered between two commands, from any machine and any
 * user.
 */
export interface DeploymentRecord {
  readonly name: string;
  /** `Succeeded`, `Failed`, `Canceled`; anything else is under way. */
  readonly state: string;
  /** When that was, as Azure writes it. */
  readonly at: string;
  readonly location: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** By name; empty where it has not ended well. */
  readonly outputs: Readonly<Record<string, string>>;
  /** What went wrong, innermost first; empty where nothing did. */
  readonly faults: ReadonlyArray<string>;
}

/** The name in Azure of a deployment of ours. */
export function recordName(name: string): string {
  return `nodewright-${name}`;
}

/** Null where nothing of that name was deployed. Throws Stopped where Azure does not tell. */
export function readRecord(ask: Ask, name: string): DeploymentRecord | null {
  const answer = ask(['deployment', 'sub', 'show', '--name', recordName(name)]);
  if (answer.kind === 'answer') return toRecord(recordName(name), answer.value);
  // Azure's own words for it, which are not those for a subscription that is not seen.
  if (answer.kind === 'refused' && /DeploymentNotFound|Deployment '.*' could not be found/i.test(answer.message)) {
    return null;
  }
  throw new Stopped(sayItHere(explainRefusal(`read the deployment ${recordName(name)}`, answer)));
}

/** How deep errors of deployments lie in each other: the template's modules have modules. */
const DEPTH_MAX = 8;

interface Fault {
  readonly code?: string;
  readonly message?: string;
  readonly target?: string;
  readonly details?: ReadonlyArray<Fault> | null;
}

interface Shown {
  readonly location?: string;
  readonly properties?: {
    readonly provisioningState?: string;
    readonly timestamp?: string;
    readonly parameters?: Readonly<Record<string, { readonly value?: unknown }>> | null;
    readonly error?: Fault | null;
  };
}

/** Reads what Azure answers about a deployment. */
export function toRecord(name: string, shown: unknown): DeploymentRecord {
  const { location = '', properties = {} } = (shown ?? {}) as Shown;
  return {
    name,
    state: properties.provisioningState ?? '',
    at: properties.timestamp ?? '',
    location,
    parameters: Object.fromEntries(
      Object.entries(properties.parameters ?? {}).map(([parameter, { value }]) => [parameter, value]),
    ),
    outputs: outputsOf(shown),
    faults: leavesOf(properties.error ?? {}, 0),
  };
}

function leavesOf({ code, message, details }: Fault, depth: number): ReadonlyArray<string> {
  const inner = depth >= DEPTH_MAX ? [] : (details ?? []).flatMap((one) => leavesOf(one, depth + 1));
  if (inner.length > 0) return [...new Set(inner)];
  return code === undefined && message === undefined ? [] : [`${code ?? 'error'}: ${message ?? ''}`];
}

/** Whether Azure still works on it. */
export function isUnderWay({ state }: DeploymentRecord): boolean {
  return !['Succeeded', 'Failed', 'Canceled'].includes(state);
}
