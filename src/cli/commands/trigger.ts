// cowry trigger: causes an event by running a sandbox payment through the merchants' API.

import { type Command, InvalidArgumentError } from 'commander'
import { EVENT_TYPE_NAMES, type EventType, isEventType } from '../../core/event-types.ts'
import { suggestName } from '../../core/text/spelling.ts'
import type { KeyOption } from '../merchant-client.ts'
import { type JsonOption, withJson, withKey } from '../options.ts'
import { type CompletedStep, runScenario } from '../run-scenario.ts'
import { scenarioOf, TRIGGERABLE } from '../scenarios.ts'
import type { Shell } from '../shell.ts'
import { CommandError, colorize, renderTable } from '../terminal.ts'
import { requireTestKey } from './listen.ts'

export function addTriggerCommand(program: Command, shell: Shell): void {
  withKey(withJson(program.command('trigger')))
    .description(
      'Trigger an event in staging, step by step. Without a type: list the types that can be triggered.',
    )
    .argument('[type]', 'the event type, such as payment.successful', eventType)
    .action((type: EventType | undefined, options: JsonOption & KeyOption) =>
      type === undefined ? list(shell, options) : trigger(shell, type, options),
    )
}

async function trigger(shell: Shell, type: EventType, options: JsonOption & KeyOption): Promise<void> {
  const { terminal, clock, random } = shell
  const scenario = scenarioOf(type)
  if ('reason' in scenario)
    throw new CommandError(
      'not_triggerable',
      `${type} cannot be triggered: ${scenario.reason}\nThese can: ${TRIGGERABLE.join(', ')}.`,
    )
  const steps: CompletedStep[] = []
  const onStep = (step: CompletedStep) => {
    steps.push(step)
    const time = colorize(terminal, 'gray', `${step.durationMs} ms`)
    if (!options.json) terminal.out(`${colorize(terminal, 'green', '✓')} ${step.description}  ${time}\n`)
  }
  const event = await shell.withMerchant(
    { ...options, stagingOnly: 'Events can be triggered in staging only.' },
    (merchant) => {
      requireTestKey(merchant)
      return runScenario({ merchant, clock, random, onStep }, type, scenario)
    },
  )
  const { id, resource } = event
  const message = `${type} happened to ${resource.type} ${resource.uuid}.`
  const text = `\n${colorize(terminal, 'cyan', type)}  ${resource.type} ${resource.uuid} v${resource.version}\n`
  const advice = colorize(terminal, 'gray', `cowry events show ${id}`)
  shell.show(
    { status: 'success', message, data: { type, steps, event } },
    options,
    () => `${text}${advice}\n`,
  )
}

async function list(shell: Shell, options: JsonOption): Promise<void> {
  const rows = EVENT_TYPE_NAMES.map((type) => {
    const scenario = scenarioOf(type)
    return {
      type,
      steps: 'reason' in scenario ? null : scenario.steps.length,
      reason: 'reason' in scenario ? scenario.reason : null,
    }
  })
  const message = `${TRIGGERABLE.length} events can be triggered.`
  shell.show({ status: 'success', message, data: rows }, options, () =>
    renderTable(
      ['EVENT', 'HOW'],
      rows.map(({ type, steps, reason }) => [
        type,
        reason === null ? `in ${steps} ${steps === 1 ? 'step' : 'steps'}` : `not supported: ${reason}`,
      ]),
    ),
  )
}

function eventType(text: string): EventType {
  if (isEventType(text)) return text
  throw new InvalidArgumentError(
    [
      'It is not an event type.',
      ...suggestName(text, EVENT_TYPE_NAMES),
      `These can be triggered: ${TRIGGERABLE.join(', ')}.`,
    ].join(' '),
  )
}
