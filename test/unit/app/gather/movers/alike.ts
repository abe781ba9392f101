import type { Present } from '../../../../../shared/app/gather/movers/planned.ts';

type Pod = Present['pods'][number];

/** 0 and 1 are of one owner, 2 is alike to 0 and another's, 3 is nobody's. */
export const shapes = [
  { namespace: 'a', labels: { app: 'shop' }, spec: {}, owner: { uid: 'shop' } },
  { namespace: 'a', labels: { app: 'shop', v: '2' }, spec: {}, owner: { uid: 'shop' } },
  { namespace: 'a', labels: { app: 'shop' }, spec: {}, owner: { uid: 'office' } },
  { namespace: 'a', labels: { app: 'shop' }, spec: {}, owner: null },
] as unknown as Present['shapes'];

/** Of shape 0, unless said otherwise. */
export const pod = (uid: string, nodeName: string | null, parts: Partial<Pod> = {}): Pod =>
  ({ uid, name: uid, nodeName, deleting: false, shape: 0, ...parts }) as Pod;
