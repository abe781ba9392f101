import { expect, test } from 'vitest';
import { RefusedError, switchKubelet } from '../../../../sandbox/start/steer/actions.ts';

const nodes = ['aks-one-a1', 'aks-two-a1', 'aks-two-b2'];

function kubelets(): Parameters<typeof switchKubelet>[0] & { readonly done: Array<string> } {
  const done: Array<string> = [];
  return {
    done,
    names: () => nodes,
    freeze: (name) => void done.push(`freeze ${name}`),
    thaw: (name) => Promise.resolve(void done.push(`thaw ${name}`)),
  };
}

test('the kubelet of a node hangs, and goes on, by the end of its name', async () => {
  const fleet = kubelets();
  expect(await switchKubelet(fleet, 'b2', 'freeze')).toContain('aks-two-b2 is frozen');
  expect(await switchKubelet(fleet, 'aks-one-a1', 'thaw')).toContain('aks-one-a1 runs again');
  expect(fleet.done).toEqual(['freeze aks-two-b2', 'thaw aks-one-a1']);
});

test('a node that is not there, or several, is refused with those that there are', async () => {
  await expect(switchKubelet(kubelets(), 'nobody', 'freeze')).rejects.toThrow(RefusedError);
  await expect(switchKubelet(kubelets(), 'nobody', 'freeze')).rejects.toThrow('aks-one-a1, aks-two-a1, aks-two-b2');
  await expect(switchKubelet(kubelets(), 'a1', 'thaw')).rejects.toThrow('Several nodes end in a1');
});
