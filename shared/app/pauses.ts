import { readPause } from '../contract/api/pause.ts';
import type { Brake } from '../core/model/disruption-input.ts';
import type { NodePool } from '../kubernetes/manifest.ts';
import { toTimestamp } from './conditions.ts';

/** The NodePools whose disruption somebody has paused by annotation, by name. */
export function pauses(nodePools: ReadonlyArray<NodePool>, nowMs: number): ReadonlyMap<string, Brake> {
  return new Map(
    nodePools.flatMap(({ metadata }): ReadonlyArray<readonly [string, Brake]> => {
      const pause = readPause(metadata, nowMs);
      if (pause.kind === 'none') return [];
      if (pause.kind === 'unreadable') return [[metadata.name, { kind: 'pause-unread', given: pause.given }]];
      const until = pause.untilMs === null ? null : toTimestamp(pause.untilMs);
      return [[metadata.name, { kind: 'paused', until }]];
    }),
  );
}
