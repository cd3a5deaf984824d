#!/usr/bin/env bash
# An OpenSearch in the folder that is named: its parts by Maven, as they were when artefacts.sha256 was written.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$(realpath -m "$1")  # Maven takes relative paths from where the pom lies
if [ -e "$folder/.made" ] && [ "$folder/.made" -nt "$here/pom.xml" ] && [ "$folder/.made" -nt "$here/ClusterNode.java" ]; then
  exit 0
fi
rm -rf "$folder" && mkdir -p "$folder/lib" "$folder/classes"
mvn --quiet --batch-mode --file "$here/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$folder/lib"
(cd "$folder/lib" && sha256sum --quiet --check "$here/artefacts.sha256")
[ "$(ls "$folder/lib" | wc -l)" = "$(wc -l < "$here/artefacts.sha256")" ]
(cd "$folder/lib" && for one in *.zip; do python3 -m zipfile -e "$one" plugin && mv plugin/*.jar . && rm -r plugin "$one"; done)
javac -d "$folder/classes" -cp "$folder/lib/*" "$here/ClusterNode.java"
touch "$folder/.made"
