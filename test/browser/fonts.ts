// The scripts that the browser of the tests has no font for, as every phone has them. They come as bytes and not from an
// address, so the page's own policy stays in force, and before anything is laid out, because text that was once laid out
// without its font partly stays so.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Language } from '../../src/core/languages.ts'

const FONTS: readonly (readonly [language: Language, family: string, file: string])[] = [
  [
    'ar',
    'Noto Sans Arabic',
    import.meta.resolve(
      '@fontsource-variable/noto-sans-arabic/files/noto-sans-arabic-arabic-wght-normal.woff2',
    ),
  ],
  [
    'am',
    'Noto Sans Ethiopic',
    import.meta.resolve(
      '@fontsource-variable/noto-sans-ethiopic/files/noto-sans-ethiopic-ethiopic-wght-normal.woff2',
    ),
  ],
  [
    'bn',
    'Noto Sans Bengali',
    import.meta.resolve(
      '@fontsource-variable/noto-sans-bengali/files/noto-sans-bengali-bengali-wght-normal.woff2',
    ),
  ],
]

/** For every page before its own script: all fonts, or only the one of the language that the address asks for. */
export async function fontScript(which: 'all' | 'own'): Promise<string> {
  const fonts = await Promise.all(
    FONTS.map(async ([language, family, file]) => ({
      language,
      family,
      base64: await readFile(fileURLToPath(file), 'base64'),
    })),
  )
  return `{
    const asked = new URLSearchParams(location.search).get('lang')
    for (const { language, family, base64 } of ${JSON.stringify(fonts)})
      if (${which === 'all'} || language === asked)
        document.fonts.add(new FontFace(family, Uint8Array.fromBase64(base64), { weight: '100 900' }))
  }`
}
