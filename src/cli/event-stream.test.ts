import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createEventStream, type RequestEvents, type StreamedEvent } from './event-stream.ts'

const START = Date.parse('2026-03-14T09:00:00.000Z')

function event(
  id: string,
  seconds: number,
  resource: Partial<StreamedEvent['resource']> = {},
): StreamedEvent {
  const createdAt = new Date(START + seconds * 1_000).toISOString()
  return {
    id,
    type: 'payment.pending',
    createdAt,
    resource: { type: 'payment', uuid: id, version: 1, ...resource },
  }
}

/** The event list of the API over an array, with two events per page. */
function fakeApi(events: StreamedEvent[]) {
  const requests: URLSearchParams[] = []
  const requestEvents: RequestEvents = async (_method, path) => {
    const query = new URLSearchParams(path.split('?')[1])
    requests.push(query)
    const from = query.get('createdFrom') ?? ''
    const rows = events
      .filter(({ createdAt }) => createdAt >= from)
      .toSorted((one, other) => (one.createdAt < other.createdAt ? -1 : 1))
    if (query.get('sort') === 'createdAt:desc') rows.reverse()
    const offset = Number(query.get('cursor') ?? 0)
    const nextCursor = offset + 2 < rows.length ? String(offset + 2) : null
    return { status: 'success', message: '', data: rows.slice(offset, offset + 2), meta: { nextCursor } }
  }
  return { requests, requestEvents, stream: createEventStream(() => requestEvents) }
}

const ids = (events: StreamedEvent[]) => events.map(({ id }) => id)

describe('the event stream of cowry listen', () => {
  it('skips existing events, and returns every new event once', async () => {
    const events = ['a', 'b', 'c', 'd', 'e'].map((id, index) => event(id, index))
    const { stream } = fakeApi(events)
    await stream.begin()
    assert.deepEqual(await stream.next(), [])
    events.push(event('f', 5), event('g', 6), event('h', 7))
    assert.deepEqual(ids(await stream.next()), ['f', 'g', 'h'])
    assert.deepEqual(await stream.next(), [])
  })

  it('finds an event that became visible after one with a later time', async () => {
    const events = [event('a', 0)]
    const { stream } = fakeApi(events)
    await stream.begin()
    events.push(event('late', 30))
    assert.deepEqual(ids(await stream.next()), ['late'])
    events.push(event('early', 12))
    assert.deepEqual(ids(await stream.next()), ['early'])
    assert.deepEqual(await stream.next(), [])
  })

  it('keeps the versions of one resource in order within a millisecond', async () => {
    const events: StreamedEvent[] = []
    const { stream } = fakeApi(events)
    await stream.begin()
    events.push(event('z', 1, { uuid: 'p', version: 3 }), event('y', 1, { uuid: 'p', version: 1 }))
    events.push(event('x', 1, { uuid: 'p', version: 2 }), event('w', 0))
    assert.deepEqual(ids(await stream.next()), ['w', 'y', 'x', 'z'])
  })

  it('returns the first events of a merchant that had none', async () => {
    const events: StreamedEvent[] = []
    const { stream, requests } = fakeApi(events)
    await stream.begin()
    assert.deepEqual(await stream.next(), [])
    events.push(event('first', 0))
    assert.deepEqual(ids(await stream.next()), ['first'])
    await stream.next()
    assert.equal(requests.at(-1)?.get('createdFrom'), '2026-03-14T08:59:40.000Z', 'later looks are short')
  })

  it('loses no event when a poll fails half way', async () => {
    const events = [event('a', 0)]
    const { requestEvents } = fakeApi(events)
    let isBroken = false
    const stream = createEventStream(() => async (method, path) => {
      if (isBroken && path.includes('cursor')) throw new Error('away')
      return requestEvents(method, path)
    })
    await stream.begin()
    events.push(...['b', 'c', 'd'].map((id, index) => event(id, index + 1)))
    isBroken = true
    await assert.rejects(stream.next(), /away/)
    isBroken = false
    assert.deepEqual(ids(await stream.next()), ['b', 'c', 'd'])
  })
})
