// The fields of a webhook endpoint, when it is added and when it is changed.

import { EVENT_PATTERNS, EVENT_TYPE_NAMES } from '../../../core/event-types.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import { field, tick } from '../../frame/components.ts'
import type { ScreenRequest } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'

interface EndpointInput {
  url: string
  description: string | null
  events: readonly string[]
}

const NAMES: readonly string[] = [...EVENT_PATTERNS, ...EVENT_TYPE_NAMES]

export function endpointFields({ t }: Texts, { url, description, events }: EndpointInput): Html {
  const ticks = (names: readonly string[]) =>
    names.map((name) =>
      tick(
        `event:${name}`,
        html`<code>${name}</code>${name === '*' && ` ${t('endpointAllEvents')}`}`,
        events.includes(name),
      ),
    )
  const isOpen = EVENT_TYPE_NAMES.some((name) => events.includes(name))
  return html`${field('url', t('endpointUrl'), { value: url, type: 'url', hint: t('endpointUrlHint'), isRequired: true })}
${field('description', t('endpointDescription'), { value: description ?? '' })}
<fieldset><legend>${t('endpointEvents')}</legend><div class="ticks">${ticks(EVENT_PATTERNS)}</div>
<details${isOpen && html` open`}><summary>${t('endpointTypes')}</summary><div class="ticks">${ticks(EVENT_TYPE_NAMES)}</div></details></fieldset>`
}

export function endpointInput(form: ScreenRequest['form']) {
  return {
    url: form.url ?? '',
    description: form.description ?? '',
    events: NAMES.filter((name) => form[`event:${name}`] !== undefined),
  }
}
