import { taint } from '../contract/names.ts';
import type { Node } from '../core/model/manifest.ts';

/** Is the node still kept for the pods that it was made for? */
export function isReserved({ spec }: Pick<Node, 'spec'>): boolean {
  return spec?.taints?.some(({ key }) => key === taint.reserved.key) === true;
}
