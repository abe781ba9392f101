import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type KubernetesObject, makeInformer, CoreV1Api, Watch } from '@kubernetes/client-node';
import { type ApiUnderTest, eventually } from './api-under-test.ts';

interface Event {
  readonly type: string;
  // eslint-disable-next-line typescript/no-explicit-any -- events carry objects, tables and statuses
  readonly object: any;
}

/** Lists: paging, selectors, versions and forms; watches: from a version, with initial events, and their end. */
export function listWatchCases(api: () => ApiUnderTest): void {
  let path = '';
  let namespace = '';
  beforeAll(async () => {
    namespace = await api().namespace();
    path = `/api/v1/namespaces/${namespace}`;
    for (const [name, tier] of [
      ['a', 'front'],
      ['b', 'front'],
      ['c', 'back'],
      ['d', ''],
    ] as const) {
      const labels = tier === '' ? {} : { tier };
      const spec = { nodeName: name === 'a' ? 'node-1' : undefined, containers: [{ name: 'main', image: 'x' }] };
      await api().send('POST', `${path}/pods`, { body: { metadata: { name, labels }, spec } });
    }
  });
  afterAll(async () => {
    await api().send('DELETE', `${path}/pods?gracePeriodSeconds=0`);
  });
  const names = async (query: string): Promise<ReadonlyArray<string>> => {
    const { body } = await api().send('GET', `${path}/pods?${query}`);
    return body.items.map((item: { metadata: { name: string } }) => item.metadata.name);
  };

  describe('list', () => {
    test.each([
      ['tier=front', 'a b'],
      ['tier!=front', 'c d'],
      ['tier in (front,back)', 'a b c'],
      ['tier notin (front)', 'c d'],
      ['tier', 'a b c'],
      ['!tier', 'd'],
      ['tier=front,tier!=back', 'a b'],
    ])('the label selector %s selects %s', async (selector, expected) => {
      expect(await names(`labelSelector=${encodeURIComponent(selector)}`)).toEqual(expected.split(' '));
    });

    test.each([
      ['metadata.name=a', 'a'],
      ['spec.nodeName=node-1', 'a'],
      ['spec.nodeName=', 'b c d'],
      ['status.phase=Pending,metadata.name!=d', 'a b c'],
    ])('the field selector %s selects %s', async (selector, expected) => {
      expect(await names(`fieldSelector=${encodeURIComponent(selector)}`)).toEqual(expected.split(' '));
    });

    test('a field that cannot be selected is a BadRequest', async () => {
      const { body } = await api().send('GET', `${path}/pods?fieldSelector=spec.other%3D1`);
      expect(body).toMatchObject({ code: 400, message: 'field label not supported: spec.other' });
    });

    test('pages show one version, whatever happens between them', async () => {
      const first = await api().send('GET', `${path}/pods?limit=2`);
      expect(first.body.items).toHaveLength(2);
      expect(first.body.metadata.remainingItemCount).toBe(2);
      await api().send('POST', `${path}/pods`, {
        body: { metadata: { name: 'cc' }, spec: { containers: [{ name: 'm', image: 'x' }] } },
      });
      const second = await api().send('GET', `${path}/pods?limit=2&continue=${first.body.metadata.continue}`);
      const found = second.body.items.map((item: { metadata: { name: string } }) => item.metadata.name);
      expect(found).toEqual(['c', 'd']);
      expect(second.body.metadata.resourceVersion).toBe(first.body.metadata.resourceVersion);
      expect(second.body.metadata.continue).toBeUndefined();
      await api().send('DELETE', `${path}/pods/cc`);
    });

    test('a version that is not there yet is a Timeout to try again, a match without a version is Invalid', async () => {
      const later = await api().send('GET', `${path}/pods?resourceVersion=999999999&resourceVersionMatch=NotOlderThan`);
      expect(later.body).toMatchObject({ code: 504, reason: 'Timeout' });
      expect(later.body.details.causes[0].reason).toBe('ResourceVersionTooLarge');
      expect((await api().send('GET', `${path}/pods?resourceVersionMatch=Exact`)).status).toBe(422);
      expect((await api().send('GET', `${path}/pods?resourceVersion=x`)).status).toBe(400);
    });

    test('an exact older version is listed as it was', async () => {
      const before = await api().send('GET', `${path}/pods`);
      await api().send('POST', `${path}/pods`, {
        body: { metadata: { name: 'e' }, spec: { containers: [{ name: 'm', image: 'x' }] } },
      });
      const version = before.body.metadata.resourceVersion;
      expect(await names(`resourceVersion=${version}&resourceVersionMatch=Exact`)).toEqual(['a', 'b', 'c', 'd']);
      await api().send('DELETE', `${path}/pods/e`);
    });

    test('items of built-in kinds carry neither kind nor version', async () => {
      const { body } = await api().send('GET', `${path}/pods`);
      expect(body).toMatchObject({ kind: 'PodList', apiVersion: 'v1' });
      expect(body.items[0].kind).toBeUndefined();
    });

    test('a Table has the columns and cells that kubectl prints', async () => {
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
      const { body } = await api().send('GET', `${path}/pods?fieldSelector=metadata.name%3Da`, { accept });
      const columns = body.columnDefinitions.map((column: { name: string }) => column.name);
      expect(columns.slice(0, 5)).toEqual(['Name', 'Ready', 'Status', 'Restarts', 'Age']);
      expect(body.rows[0].cells.slice(0, 4)).toEqual(['a', '0/1', 'Pending', '0']);
      expect(body.rows[0].cells[6]).toBe('node-1');
      expect(body.rows[0].object).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { name: 'a' } });
    });

    test('metadata alone is given when that is asked for', async () => {
      const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
      const { body } = await api().send('GET', `${path}/pods`, { accept });
      expect(body).toMatchObject({ kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' });
      expect(body.items[0].spec).toBeUndefined();
      expect((await api().send('GET', `${path}/pods`, { accept: 'text/html' })).status).toBe(406);
    });
  });

  describe('watch', () => {
    /** A real server waits for its storage's progress before it ends the initial events, for longer under load. */
    const WATCHED_S = 4;
    const eventsOf = async (query: string): Promise<ReadonlyArray<Event>> => {
      const { text } = await api().send('GET', `${path}/pods?watch=1&timeoutSeconds=${WATCHED_S}&${query}`);
      return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Event]));
    };
    const typesAndNames = (events: ReadonlyArray<Event>): ReadonlyArray<string> =>
      events.filter(({ type }) => type !== 'BOOKMARK').map(({ type, object }) => `${type} ${object.metadata.name}`);

    test('a watch from a version tells every later change in order', async () => {
      const { body } = await api().send('GET', `${path}/pods`);
      const merge = 'application/merge-patch+json';
      await api().send('POST', `${path}/pods`, {
        body: { metadata: { name: 'w' }, spec: { containers: [{ name: 'm', image: 'x' }] } },
      });
      await api().send('PATCH', `${path}/pods/w`, { type: merge, body: { metadata: { labels: { x: 'y' } } } });
      await api().send('DELETE', `${path}/pods/w`);
      const events = await eventsOf(`resourceVersion=${body.metadata.resourceVersion}`);
      const types = typesAndNames(events);
      // The real server marks a pod as deleted before it removes it; both are right.
      expect([types[0], types[1], types.at(-1)]).toEqual(['ADDED w', 'MODIFIED w', 'DELETED w']);
    });

    test('an object that starts or stops to match a selector is added or deleted', async () => {
      const { body } = await api().send('GET', `${path}/pods`);
      const type = 'application/merge-patch+json';
      await api().send('PATCH', `${path}/pods/d`, { type, body: { metadata: { labels: { tier: 'front' } } } });
      await api().send('PATCH', `${path}/pods/d`, { type, body: { metadata: { labels: { tier: null } } } });
      const events = await eventsOf(`labelSelector=tier&resourceVersion=${body.metadata.resourceVersion}`);
      expect(typesAndNames(events)).toEqual(['ADDED d', 'DELETED d']);
    });

    test('initial events end with a bookmark that says so', async () => {
      const events = await eventsOf(
        'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
      );
      expect(typesAndNames(events)).toEqual(['ADDED a', 'ADDED b', 'ADDED c', 'ADDED d']);
      const bookmark = events.find(({ type }) => type === 'BOOKMARK');
      expect(bookmark?.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
      expect((await api().send('GET', `${path}/pods?watch=1&sendInitialEvents=true`)).status).toBe(422);
    });

    test('a watch of Tables sends its columns once', async () => {
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
      const { text } = await api().send('GET', `${path}/pods?watch=1&timeoutSeconds=${WATCHED_S}`, { accept });
      const events = text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Event]));
      expect(events[0]?.object.columnDefinitions.length).toBeGreaterThan(5);
      expect(events[1]?.object.columnDefinitions).toBeFalsy();
    });

    test('client-node watches what is written while it watches', async () => {
      const seen: Array<string> = [];
      const watch = new Watch(api().kubeConfig);
      const controller = await watch.watch(
        `${path}/configmaps`,
        {},
        (type, object: { metadata: { name: string } }) => seen.push(`${type} ${object.metadata.name}`),
        () => {},
      );
      await api().send('POST', `${path}/configmaps`, { body: { metadata: { name: 'live' } } });
      await eventually(
        () => Promise.resolve(seen),
        (list) => list.includes('ADDED live'),
      );
      controller.abort();
    });

    test('client-node’s informer lists, watches and follows', async () => {
      const client = api().kubeConfig.makeApiClient(CoreV1Api);
      const list = () => client.listNamespacedSecret({ namespace });
      const informer = makeInformer(api().kubeConfig, `${path}/secrets`, list);
      const seen: Array<string> = [];
      informer.on('add', (object: KubernetesObject) => seen.push(`add ${object.metadata?.name}`));
      informer.on('delete', (object: KubernetesObject) => seen.push(`delete ${object.metadata?.name}`));
      await client.createNamespacedSecret({ namespace, body: { metadata: { name: 'first' }, stringData: { a: 'b' } } });
      await informer.start();
      await client.createNamespacedSecret({ namespace, body: { metadata: { name: 'second' } } });
      await client.deleteNamespacedSecret({ namespace, name: 'first' });
      await eventually(
        () => Promise.resolve(seen),
        (events) => events.includes('delete first') && events.includes('add second'),
      );
      expect(seen[0]).toBe('add first');
      await informer.stop();
    });
  });
}
