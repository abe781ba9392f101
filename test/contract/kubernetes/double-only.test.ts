import { describe, expect, test } from 'vitest';
import { startDouble } from './cases/api-under-test.ts';
import { startedApi } from './started-api.ts';

/** What tests may do to the double and to no real cluster: forget its history, and end its watches. */
describe('the double’s handles for tests', () => {
  const api = startedApi(startDouble);

  test('after a compaction an old version ends a watch with 410 as an ERROR event, and a page with 410', async () => {
    const path = `/api/v1/namespaces/${await api().namespace()}/configmaps`;
    for (const name of ['a', 'b']) await api().send('POST', path, { body: { metadata: { name } } });
    const page = await api().send('GET', `${path}?limit=1`);
    await api().send('DELETE', `${path}/b`);
    api().compact?.();
    const watch = await api().send('GET', `${path}?watch=1&resourceVersion=${page.body.metadata.resourceVersion}`);
    expect(watch.status).toBe(200);
    expect(watch.body).toMatchObject({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } });
    const next = await api().send('GET', `${path}?limit=1&continue=${page.body.metadata.continue}`);
    expect(next.body).toMatchObject({ code: 410, reason: 'Expired' });
  });

  test('watches can be dropped, with a 410 before', async () => {
    const path = `/api/v1/namespaces/${await api().namespace()}/secrets`;
    const watch = api().send('GET', `${path}?watch=1`);
    await api().send('POST', path, { body: { metadata: { name: 'a' } } });
    const dropped = await waitForDrop();
    expect(dropped).toBe(1);
    const { text } = await watch;
    expect(
      text
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { type: string }).type),
    ).toEqual(['ADDED', 'ERROR']);
  });

  async function waitForDrop(): Promise<number> {
    // The watch is open once there is something to drop; a thousand turns are far more than that takes.
    for (let turn = 0; turn < 1000; turn++) {
      const dropped = api().dropWatches?.('secrets', true) ?? 0;
      if (dropped > 0) return dropped;
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
    }
    return 0;
  }
});
