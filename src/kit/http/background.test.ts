import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createBackground } from './background.ts'

it('waits for background work, also for work that other work has started', async () => {
  const steps: string[] = []
  const background = createBackground({ log: { write: (key) => void steps.push(key) } })
  background.run(async () => {
    steps.push('first')
    background.run(async () => steps.push('second'))
  })
  steps.push('response')
  await background.settled()
  assert.deepEqual(steps, ['response', 'first', 'second'])
})

it('logs a failure of background work and goes on', async () => {
  const lines: string[] = []
  const background = createBackground({ log: { write: (key) => void lines.push(key) } })
  background.run(() => Promise.reject(new Error('no database')))
  await background.settled()
  assert.deepEqual(lines, ['http.request_failed'])
})
