import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CONCURRENCY, createLanes } from './lanes.ts'

const NOW = new Date('2026-03-14T09:26:53.589Z')
const later = (ms: number) => new Date(NOW.getTime() + ms)

const due = (count: number, name = 'e', isFailing = false) =>
  Array.from({ length: count }, (_, n) => ({ merchantId: 'm', endpointId: `${name}${n}`, isFailing }))

const roomsOf = (turns: { room: number }[]) => turns.map(({ room }) => room)
const sum = (rooms: number[]) => rooms.reduce((total, room) => total + room, 0)

/** Lanes in which every one of them has a call under way since NOW. */
function busy(endpoints: ReturnType<typeof due>) {
  const lanes = createLanes()
  const calls = endpoints.map(({ endpointId, isFailing }) => lanes.enter(endpointId, isFailing, NOW))
  return { lanes, calls }
}

describe('the lanes of a process', () => {
  it('give one call to who has not answered yet, and eight to who has', () => {
    const lanes = createLanes()
    assert.deepEqual(roomsOf(lanes.deal(due(2), 100, NOW)), [1, 1])
    const call = lanes.enter('e0', false, NOW)
    assert.deepEqual(roomsOf(lanes.deal(due(2), 100, NOW)), [1], 'the other one')
    call.answered(later(100))
    assert.deepEqual(roomsOf(lanes.deal(due(2), 100, NOW)), [7, 1])
    call.leave()
    assert.deepEqual(roomsOf(lanes.deal(due(2), 100, NOW)), [8, 1])
  })

  it('deal one for each first, and keep the last places for those that are known to answer', () => {
    const { lanes, calls } = busy(due(2))
    for (const call of calls) {
      call.answered(later(10))
      call.leave()
    }
    assert.deepEqual(roomsOf(lanes.deal(due(2), 4, NOW)), [2, 2])
    assert.deepEqual(roomsOf(lanes.deal([...due(2), ...due(1, 'other')], 64, NOW)), [8, 8])
    const many = lanes.deal([...due(500, 'other'), ...due(2)], CONCURRENCY, NOW)
    assert.equal(sum(roomsOf(many)), 128 + 16)
  })

  it('leave room for others when all that fail have something due', () => {
    const failing = due(1_000, 'failing', true)
    const turns = createLanes().deal([...failing, ...due(50)], CONCURRENCY, NOW)
    assert.equal(turns.filter(({ endpointId }) => endpointId.startsWith('failing')).length, 128)
    assert.equal(turns.filter(({ endpointId }) => endpointId.startsWith('e')).length, 50)
  })

  it('give one call to who fails, until it is known that it fails quickly', () => {
    const { lanes, calls } = busy(due(1, 'e', true))
    assert.deepEqual(lanes.deal(due(1, 'e', true), 100, NOW), [])
    calls[0]?.answered(later(10))
    assert.deepEqual(roomsOf(lanes.deal(due(1, 'e', true), 100, NOW)), [7])
  })

  it('make room as soon as those that were called are late', () => {
    const { lanes } = busy(due(192))
    assert.deepEqual(lanes.deal(due(10, 'other'), 100, later(1_999)), [])
    assert.equal(sum(roomsOf(lanes.deal(due(10, 'other'), 100, later(2_000)))), 10)
    assert.deepEqual(
      lanes.deal(due(1, 'failing', true), 100, later(2_000)),
      [],
      'but not for more of their kind',
    )
  })

  it('remember who was slow, until it is not', () => {
    const { lanes, calls } = busy(due(1))
    calls[0]?.answered(later(5_000))
    calls[0]?.leave()
    const rest = busy(due(128, 'failing', true)).lanes
    assert.equal(rest.deal(due(1), 100, NOW).length, 1)
    for (const { endpointId } of due(128, 'failing', true)) lanes.enter(endpointId, true, NOW)
    assert.deepEqual(lanes.deal(due(1), 100, NOW), [])
    const again = lanes.enter('e0', false, NOW)
    again.answered(later(10))
    again.leave()
    assert.deepEqual(roomsOf(lanes.deal(due(1), 8, NOW)), [8])
  })

  it('say when nobody could be given a turn', () => {
    const { lanes, calls } = busy([...due(192), ...due(128, 'failing', true)])
    assert.equal(lanes.hasRoom(NOW), false)
    calls[0]?.leave()
    assert.equal(lanes.hasRoom(NOW), true)
  })
})
