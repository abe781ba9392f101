import { expect, test } from 'vitest';
import { AN_ACCEPTED_LAUNCH, aLaunch, ours, withProduct } from './product.ts';
import { recorded } from './recordings.ts';

const NIC_UPDATING = {
  ...recorded('nic-create-and-delete', 0, 0),
  body: { id: '/nic', properties: { provisioningState: 'Updating' } },
};

test('a recorded launch is accepted after five requests, as the NIC’s own answer says that it is there', async () => {
  await withProduct(AN_ACCEPTED_LAUNCH, async ({ cloud, asked }) => {
    expect(await cloud.launch(aLaunch)).toMatchObject({ kind: 'accepted', machine: { claim: 'general-0abc' } });
    expect(asked.toSorted()).toEqual([
      'GET loadBalancers',
      'GET networkInterfaces/*',
      'GET networkSecurityGroups',
      'PUT networkInterfaces/*',
      'PUT virtualMachines/*',
    ]);
  });
});

test('a NIC that is on its way is looked at until it is there', async () => {
  const script = { ...AN_ACCEPTED_LAUNCH, 'PUT networkInterfaces/*': NIC_UPDATING };
  await withProduct(script, async ({ cloud, asked }) => {
    expect((await cloud.launch(aLaunch)).kind).toBe('accepted');
    // Before the NIC is made, and after.
    expect(asked.filter((one) => one === 'GET networkInterfaces/*')).toHaveLength(1 + 1);
  });
});

test('the operation that makes a VM is begun and never asked about', async () => {
  await withProduct(AN_ACCEPTED_LAUNCH, async ({ cloud, asked }) => {
    await cloud.launch(aLaunch);
    const then = asked.length;
    await new Promise((resolve) => {
      setTimeout(resolve, 300);
    });
    expect(asked).toHaveLength(then);
  });
});

test('a second delivery finds the VM of the first', async () => {
  const script = {
    ...AN_ACCEPTED_LAUNCH,
    'PUT virtualMachines/*': recorded('vm-create', 0, 7),
    'GET virtualMachines/*': ours(recorded('vm-create', 0, 4)),
  };
  await withProduct(script, async ({ cloud }) => {
    expect((await cloud.launch(aLaunch)).kind).toBe('exists');
  });
});
