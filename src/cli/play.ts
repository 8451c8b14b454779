// Plays a recipe: asks the steps one after the other, and waits until the event is there.

import type { EventType } from '../core/event-types.ts'
import type { Clock } from '../kit/clock.ts'
import type { Random } from '../kit/random.ts'
import type { StreamedEvent } from './event-stream.ts'
import type { MerchantClient } from './merchant-client.ts'
import type { Recipe, Step } from './recipes.ts'
import { CommandError } from './terminal.ts'

export interface PlayedStep {
  words: string
  method: string
  path: string
  durationMs: number
}

interface Needs {
  merchant: Pick<MerchantClient, 'call' | 'postForm'>
  clock: Clock
  random: Random
  onStep(step: PlayedStep): void
}

type Memory = Record<string, string>

/** Plays the steps and answers the event that they made happen. */
export async function play(app: Needs, type: EventType, recipe: Recipe): Promise<StreamedEvent> {
  const memory = newMemory(app.random)
  for (const step of recipe.steps) {
    const startedAt = app.clock.now().getTime()
    const path = fill(step.path, memory)
    const record = await ask(app, step, path, memory)
    for (const [name, at] of Object.entries(step.keep ?? {})) memory[name] = requireText(record, at, step)
    const durationMs = app.clock.now().getTime() - startedAt
    app.onStep({ words: step.words, method: step.method, path, durationMs })
  }
  return awaitEvent(app, type, memory[recipe.resource] ?? '')
}

/** New names every time, so that nothing was seen before. */
function newMemory(random: Random): Memory {
  const mark = random.uuid().slice(-12)
  return {
    reference: `trigger-${mark}`,
    chargeReference: `trigger-${mark}-again`,
    email: `amina.${mark}@example.com`,
    formToken: random.uuid(),
  }
}

async function ask({ merchant }: Needs, step: Step, path: string, memory: Memory): Promise<unknown> {
  const body = step.body && fillBody(step.body, memory)
  if (!step.isForm) return (await merchant.call(step.method, path, body)).data
  const { status } = await merchant.postForm(path, Object.fromEntries(Object.entries(body ?? {})))
  // A page that has taken a form leads on; one that has not shows what is wrong with it.
  if (status !== 303)
    throw new CommandError('step_failed', `"${step.words}" did not work: the page answered HTTP ${status}.`)
  return null
}

function fill(text: string, memory: Memory): string {
  return text.replaceAll(/\{(\w+)\}/g, (_, name: string) => memory[name] ?? '')
}

function fillBody(body: object, memory: Memory): Record<string, string> {
  // A boundary: filling in texts leaves the shape of the body as the recipe has it.
  return JSON.parse(JSON.stringify(body), (_, value: unknown) =>
    typeof value === 'string' ? fill(value, memory) : value,
  ) as Record<string, string>
}

/** A text somewhere in a record, such as customer.uuid. */
function requireText(record: unknown, at: string, { words }: Step): string {
  const found = at
    .split('.')
    .reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null
          ? Object.entries(value).find(([key]) => key === name)?.[1]
          : undefined,
      record,
    )
  if (typeof found === 'string') return found
  throw new CommandError('step_failed', `"${words}" did not work: the answer has no ${at}.`)
}

// Some events are written by background work, which looks every second or so.
const WAIT_MS = 15_000
const LOOK_EVERY_MS = 250

async function awaitEvent(app: Needs, type: EventType, resource: string): Promise<StreamedEvent> {
  const until = app.clock.now().getTime() + WAIT_MS
  const path = `/api/v1/events?${new URLSearchParams({ type, resource, limit: '1' })}`
  do {
    // A boundary: the merchants' API describes its records in src/deliveries/schema.ts.
    const [event] = (await app.merchant.call('GET', path)).data as StreamedEvent[]
    if (event) return event
    await app.clock.sleep(LOOK_EVERY_MS)
  } while (app.clock.now().getTime() < until)
  throw new CommandError(
    'no_event',
    `Everything was played, but ${type} has not come in ${WAIT_MS / 1_000} s. Does a process do the background work (cowry serve --role worker)?`,
  )
}
