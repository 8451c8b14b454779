// Plays a scenario: asks the steps one after the other, and waits until the event is there.

import type { EventType } from '../core/event-types.ts'
import type { Clock } from '../kit/clock.ts'
import type { Random } from '../kit/random.ts'
import type { StreamedEvent } from './event-stream.ts'
import type { MerchantClient } from './merchant-client.ts'
import type { Scenario, Step } from './scenarios.ts'
import { CommandError } from './terminal.ts'

export interface CompletedStep {
  description: string
  method: string
  path: string
  durationMs: number
}

interface Needs {
  merchant: Pick<MerchantClient, 'call' | 'postForm'>
  clock: Clock
  random: Random
  onStep(step: CompletedStep): void
}

type Variables = Record<string, string>

/** Plays the steps and answers the event that they made happen. */
export async function runScenario(app: Needs, type: EventType, scenario: Scenario): Promise<StreamedEvent> {
  const variables = createVariables(app.random)
  for (const step of scenario.steps) {
    const startedAt = app.clock.now().getTime()
    const path = fill(step.path, variables)
    const record = await sendStep(app, step, path, variables)
    for (const [name, at] of Object.entries(step.capture ?? {}))
      variables[name] = requireText(record, at, step)
    const durationMs = app.clock.now().getTime() - startedAt
    app.onStep({ description: step.description, method: step.method, path, durationMs })
  }
  return awaitEvent(app, type, variables[scenario.resource] ?? '')
}

/** New names every time, so that nothing was seen before. */
function createVariables(random: Random): Variables {
  const mark = random.uuid().slice(-12)
  return {
    reference: `trigger-${mark}`,
    chargeReference: `trigger-${mark}-again`,
    email: `amina.${mark}@example.com`,
    formToken: random.uuid(),
  }
}

async function sendStep(
  { merchant }: Needs,
  step: Step,
  path: string,
  variables: Variables,
): Promise<unknown> {
  const body = step.body && fillBody(step.body, variables)
  if (!step.isForm) return (await merchant.call(step.method, path, body)).data
  const { status } = await merchant.postForm(path, Object.fromEntries(Object.entries(body ?? {})))
  // A page that has taken a form leads on; one that has not shows what is wrong with it.
  if (status !== 303)
    throw new CommandError(
      'step_failed',
      `"${step.description}" did not work: the page answered HTTP ${status}.`,
    )
  return null
}

function fill(text: string, variables: Variables): string {
  return text.replaceAll(/\{(\w+)\}/g, (_, name: string) => variables[name] ?? '')
}

function fillBody(body: object, variables: Variables): Record<string, string> {
  // A boundary: filling in texts leaves the shape of the body as the scenario has it.
  return JSON.parse(JSON.stringify(body), (_, value: unknown) =>
    typeof value === 'string' ? fill(value, variables) : value,
  ) as Record<string, string>
}

/** A text somewhere in a record, such as customer.uuid. */
function requireText(record: unknown, at: string, { description }: Step): string {
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
  throw new CommandError('step_failed', `"${description}" did not work: the answer has no ${at}.`)
}

// Some events are written by background work, which looks every second or so.
const EVENT_TIMEOUT_MS = 15_000
const POLL_INTERVAL_MS = 250

async function awaitEvent(app: Needs, type: EventType, resource: string): Promise<StreamedEvent> {
  const until = app.clock.now().getTime() + EVENT_TIMEOUT_MS
  const path = `/api/v1/events?${new URLSearchParams({ type, resource, limit: '1' })}`
  do {
    // A boundary: the merchants' API describes its records in src/deliveries/schema.ts.
    const [event] = (await app.merchant.call('GET', path)).data as StreamedEvent[]
    if (event) return event
    await app.clock.sleep(POLL_INTERVAL_MS)
  } while (app.clock.now().getTime() < until)
  throw new CommandError(
    'no_event',
    `Everything was played, but ${type} has not come in ${EVENT_TIMEOUT_MS / 1_000} s. Does a process do the background work (cowry serve --role worker)?`,
  )
}
