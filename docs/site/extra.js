// What the theme leaves out for keyboards: its hidden switches can't be reached, and code that scrolls can.
for (const hidden of document.querySelectorAll("input.md-option, input.md-toggle")) hidden.tabIndex = -1;
for (const code of document.querySelectorAll("pre > code, .md-typeset__table")) code.tabIndex = 0;
