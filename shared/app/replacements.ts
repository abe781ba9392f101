import { annotation } from '../contract/names.ts';
import type { NodeClaim } from '../kubernetes/manifest.ts';

/** Names of the claims that were launched in place of one that goes; none where nothing was launched for it. */
export function replacementsOf({ metadata }: NodeClaim): ReadonlyArray<string> {
  return (metadata.annotations?.[annotation.replacedBy] ?? '').split(',').filter(Boolean);
}
