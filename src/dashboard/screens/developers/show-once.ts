// A secret on the response to the form that made it: the only page that has it.

import { html } from '../../../kit/http/html.ts'
import type { RouteResponse } from '../../../kit/http/route.ts'
import { codeBlock, notice } from '../../frame/components.ts'
import type { ScreenRequest, ScreenResponse } from '../../frame/screen.ts'
import type { TextId } from '../../locales/en.ts'

interface Secret {
  title: TextId
  text: TextId
  /** Instead of the secret when the form was submitted before. */
  gone: TextId
  /** Where the person continues. */
  next: string
  value: string | null
}

/** Whether the form was submitted before, for example by a reload of the page that followed. */
export const isReplayed = ({ headers }: RouteResponse): boolean =>
  headers?.['Idempotent-Replayed'] !== undefined

export function showOnce({ texts: { t } }: ScreenRequest, secret: Secret): ScreenResponse {
  const { title, text, gone, next, value } = secret
  const shown =
    value === null
      ? notice('wait', html`<p>${t(gone)}</p>`)
      : html`${notice('wait', html`<p>${t(text)}</p>`)}${codeBlock(t(title), value)}
<p><button type="button" class="plain" data-copy="${value}" data-copied="${t('copied')}" hidden>${t('copy')}</button></p>`
  const body = html`<div class="head"><h1>${t(title)}</h1></div><section class="card">${shown}<p><a class="button" href="${next}">${t('continue')}</a></p></section>`
  return { title: t(title), body }
}
