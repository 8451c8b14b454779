// Passkeys in forms: the question for the browser's script, which submits the form with the browser's answer.

import { isIP } from 'node:net'
import { type Html, html } from '../../kit/http/html.ts'
import type { PasskeyAnswer, PasskeyQuestion } from '../../people/passkeys.ts'
import type { AreaApp } from '../app.ts'
import { cookie, cookieName } from './cookies.ts'
import type { Texts } from './texts.ts'

/** Browsers make passkeys for names alone, such as localhost, and not for an address like 127.0.0.1. */
export function offersPasskeys({ publicUrl }: Pick<AreaApp, 'publicUrl'>): boolean {
  const { hostname } = new URL(publicUrl())
  return isIP(hostname.replaceAll(/[[\]]/g, '')) === 0
}

export const passkeyCookie = (app: AreaApp, { challenge, maxAgeSeconds }: PasskeyQuestion) =>
  cookie(app, 'passkey', challenge, maxAgeSeconds)

/** The fields of a form that makes or uses a passkey. `isAutomatic`: the script asks without a press of the button. */
export function passkeyFields(
  call: 'create' | 'get',
  { options }: PasskeyQuestion,
  { t }: Texts,
  isAutomatic = false,
): Html {
  return html`<div class="field"><input type="hidden" name="passkey" value="" data-passkey="${call}" data-options="${JSON.stringify(options)}"${isAutomatic && html` data-auto`}><p class="error" role="alert" hidden>${t('passkeyFailed')}</p><noscript><p>${t('passkeyNoScript')}</p></noscript></div>`
}

/** The answer of the browser that was asked: the challenge is in its cookie. */
export function passkeyAnswer(
  app: AreaApp,
  { cookies, form }: Record<'cookies' | 'form', Readonly<Record<string, string>>>,
): PasskeyAnswer {
  return { challenge: cookies[cookieName(app, 'passkey')] ?? '', response: parsed(form.passkey ?? '') }
}

/** Undefined for what is no JSON; src/people refuses it like every other wrong answer. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
