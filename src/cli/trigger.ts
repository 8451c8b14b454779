// cowry trigger: makes an event happen, by playing a sandbox payment to that end through the merchants' API.

import { type Command, InvalidArgumentError } from 'commander'
import { EVENT_TYPE_NAMES, type EventType, isEventType } from '../core/event-types.ts'
import { requireTestKey } from './listen.ts'
import type { KeyOption } from './merchant-client.ts'
import { type JsonOption, withJson, withKey } from './options.ts'
import { type PlayedStep, play } from './play.ts'
import { PLAYABLE, recipeOf } from './recipes.ts'
import type { Shell } from './shell.ts'
import { CommandError, paint, renderTable } from './terminal.ts'

export function addTriggerCommand(program: Command, shell: Shell): void {
  withKey(withJson(program.command('trigger')))
    .description('Make an event happen in staging, step by step. Without a type: list what can be triggered.')
    .argument('[type]', 'the event, such as payment.successful', eventType)
    .action((type: EventType | undefined, options: JsonOption & KeyOption) =>
      type === undefined ? list(shell, options) : trigger(shell, type, options),
    )
}

async function trigger(shell: Shell, type: EventType, options: JsonOption & KeyOption): Promise<void> {
  const { terminal, clock, random } = shell
  const recipe = recipeOf(type)
  if ('why' in recipe)
    throw new CommandError(
      'not_playable',
      `${type} cannot be triggered: ${recipe.why}\nThese can: ${PLAYABLE.join(', ')}.`,
    )
  const steps: PlayedStep[] = []
  const onStep = (step: PlayedStep) => {
    steps.push(step)
    const time = paint(terminal, 'gray', `${step.durationMs} ms`)
    if (!options.json) terminal.out(`${paint(terminal, 'green', '✓')} ${step.words}  ${time}\n`)
  }
  const event = await shell.withMerchant(options, (merchant) => {
    requireTestKey(merchant)
    return play({ merchant, clock, random, onStep }, type, recipe)
  })
  const { id, resource } = event
  const message = `${type} happened to ${resource.type} ${resource.uuid}.`
  const words = `\n${paint(terminal, 'cyan', type)}  ${resource.type} ${resource.uuid} v${resource.version}\n`
  const advice = paint(terminal, 'gray', `cowry events show ${id}`)
  shell.show(
    { status: 'success', message, data: { type, steps, event } },
    options,
    () => `${words}${advice}\n`,
  )
}

async function list(shell: Shell, options: JsonOption): Promise<void> {
  const rows = EVENT_TYPE_NAMES.map((type) => {
    const recipe = recipeOf(type)
    return {
      type,
      steps: 'why' in recipe ? null : recipe.steps.length,
      why: 'why' in recipe ? recipe.why : null,
    }
  })
  const message = `${PLAYABLE.length} events can be triggered.`
  shell.show({ status: 'success', message, data: rows }, options, () =>
    renderTable(
      ['EVENT', 'HOW'],
      rows.map(({ type, steps, why }) => [
        type,
        why === null ? `in ${steps} ${steps === 1 ? 'step' : 'steps'}` : `not by asking: ${why}`,
      ]),
    ),
  )
}

function eventType(text: string): EventType {
  if (isEventType(text)) return text
  throw new InvalidArgumentError(`It is no event. These can be triggered: ${PLAYABLE.join(', ')}.`)
}
